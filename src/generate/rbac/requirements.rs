//! The permissions that the operator needs for a project, each with the reasons for it.

use std::collections::{BTreeMap, BTreeSet};

use super::api_use::Site;
use super::kind_table::KindTable;
use crate::model::Gvk;
use crate::role::ApiRule;

/// A verb on a resource.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Permission {
    /// True for a resource without namespaces.
    pub(crate) is_cluster_scoped: bool,
    /// The API group, empty for the core.
    pub(crate) group: String,
    /// The plural name, with the subresource: `deployments/scale`.
    pub(crate) resource: String,
    /// The name of the only object; `None` for all objects.
    pub(crate) name: Option<String>,
    pub(crate) verb: String,
}

/// The reason for a permission.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Reason {
    /// A function of the operator itself.
    Operator(&'static str),
    /// A call in a role.
    Role(Site),
    /// A request that scenario tests recorded.
    Recorded,
    /// `permissions` of the settings.
    Settings,
}

/// A call whose permissions the reading cannot find out.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Gap {
    pub(crate) site: Site,
    pub(crate) kind: GapKind,
}

/// The cause of a [`Gap`].
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum GapKind {
    /// A run computes the kind of the objects; the verbs are those of the call.
    Kind(&'static [&'static str]),
    /// A run computes the permissions that an object of RBAC hands out.
    Grants,
    /// A run computes the name of the role.
    Role,
    /// The plural name of a kind is a guess.
    Plural(Gvk, String),
    /// The role's own `permissions` do not allow these verbs on a resource.
    Fenced(String, Vec<&'static str>),
}

/// The permissions that a project needs.
#[derive(Debug, Default)]
pub(crate) struct Requirements {
    pub(crate) permissions: BTreeMap<Permission, BTreeSet<Reason>>,
    pub(crate) gaps: BTreeSet<Gap>,
}

impl Requirements {
    /// Adds a permission that the operator itself needs.
    pub(super) fn operator(
        &mut self,
        group: &str,
        resource: &str,
        is_cluster_scoped: bool,
        verb: &str,
        reason: &'static str,
    ) {
        let permission = Permission {
            is_cluster_scoped,
            group: group.to_owned(),
            resource: resource.to_owned(),
            name: None,
            verb: verb.to_owned(),
        };
        self.add(permission, Reason::Operator(reason));
    }

    /// Adds a rule of RBAC.
    pub(super) fn set_rule(&mut self, rule: &ApiRule, kinds: &KindTable, reason: &Reason) {
        let names: Vec<_> = rule.resource_names.iter().cloned().map(Some).collect();
        let names = if names.is_empty() { vec![None] } else { names };
        for group in &rule.api_groups {
            for resource in &rule.resources {
                for verb in &rule.verbs {
                    for name in &names {
                        let permission = Permission {
                            is_cluster_scoped: kinds.is_cluster_scoped(group, resource),
                            group: group.clone(),
                            resource: resource.clone(),
                            name: name.clone(),
                            verb: verb.clone(),
                        };
                        self.add(permission, reason.clone());
                    }
                }
            }
        }
    }

    /// Adds a permission.
    pub(crate) fn add(&mut self, permission: Permission, reason: Reason) {
        self.permissions
            .entry(permission)
            .or_default()
            .insert(reason);
    }
}
