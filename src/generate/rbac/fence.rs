//! The objects that the `permissions` of a role allow it to use.

use std::collections::BTreeSet;

use crate::model::access::{Access, AccessScope};
use crate::role::{ApiRule, Permissions};

/// The objects that a fence allows.
pub(super) enum Names {
    All,
    Some(BTreeSet<String>),
}

impl Names {
    pub(super) fn intersect(self, other: Self) -> Self {
        match (self, other) {
            (Self::All, names) | (names, Self::All) => names,
            (Self::Some(these), Self::Some(those)) => {
                Self::Some(these.intersection(&those).cloned().collect())
            }
        }
    }
}

/// Returns the objects of a resource on which a role can use a verb.
pub(super) fn allowed_names(
    fence: &Permissions,
    group: &str,
    resource: &str,
    verb: &str,
    is_cluster_scoped: bool,
) -> Names {
    let own = "own";
    let scopes = if is_cluster_scoped {
        [AccessScope::Cluster, AccessScope::Cluster]
    } else {
        [AccessScope::Namespace(own), AccessScope::AllNamespaces]
    };
    let allows = |name: &str| {
        scopes.into_iter().any(|scope| {
            let access = Access {
                verb,
                group,
                resource,
                scope,
                name,
            };
            fence.allows(&access, Some(own))
        })
    };
    if allows("")
        || fence
            .api
            .iter()
            .flatten()
            .any(|rule| names_namespaces(rule, group, resource, verb))
    {
        return Names::All;
    }
    let rules = fence.api.iter().flatten();
    let names = rules.flat_map(|rule| &rule.resource_names);
    Names::Some(names.filter(|name| allows(name)).cloned().collect())
}

/// Returns whether a rule allows a verb on a resource in namespaces that it names.
fn names_namespaces(rule: &ApiRule, group: &str, resource: &str, verb: &str) -> bool {
    let has = |list: &[String], wanted: &str| list.iter().any(|one| one == "*" || one == wanted);
    rule.namespaces.is_some()
        && rule.resource_names.is_empty()
        && has(&rule.api_groups, group)
        && has(&rule.resources, resource)
        && has(&rule.verbs, verb)
}
