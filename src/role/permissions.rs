//! The permissions of a role: API requests, environment variables, HTTP hosts.

use crate::model::access::{Access, AccessScope};
use crate::model::yaml::Position;

/// The `permissions` of a role's `meta/main.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// The allowed API requests; `None` allows all requests that the operator's own rights allow.
    pub api: Option<Vec<ApiRule>>,
    /// The position of `api` in the file.
    pub position: Position,
    /// The environment variables that the role can read; a trailing `*` matches any ending.
    pub env: Vec<String>,
    /// The hosts that the role can send HTTP requests to.
    pub http: Vec<String>,
}

/// A rule, as in RBAC. It allows each of its verbs on each of its resources in each of its groups; `*` means
/// all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiRule {
    /// API groups; `""` is the core group.
    pub api_groups: Vec<String>,
    /// Plural names, optionally with a subresource: `deployments`, `deployments/scale`, `*/scale`.
    pub resources: Vec<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verbs: Vec<String>,
    /// Namespaces, `*` for all; `None` for the custom resource's own.
    pub namespaces: Option<Vec<String>>,
    /// Names of objects; empty for all. As in RBAC, a create has no name.
    pub resource_names: Vec<String>,
    /// The position of the rule in the file.
    pub position: Position,
}

impl Permissions {
    /// Returns whether the role can send a request. `own` is the namespace of the custom resource.
    pub fn allows(&self, access: &Access<'_>, own: Option<&str>) -> bool {
        let Some(rules) = &self.api else {
            return true;
        };
        rules.iter().any(|rule| rule.allows(access, own))
    }

    /// Returns the position of the rule that matches a request best, or of all rules.
    pub fn nearest(&self, access: &Access<'_>) -> Position {
        let mut rules = self.api.iter().flatten();
        let near = rules.find(|rule| rule.is_about(access));
        near.map_or(self.position, |rule| rule.position)
    }
}

impl ApiRule {
    fn allows(&self, access: &Access<'_>, own: Option<&str>) -> bool {
        let is_named = self.resource_names.is_empty()
            || self.resource_names.iter().any(|name| name == access.name);
        self.is_about(access)
            && lists(&self.verbs, access.verb)
            && self.reaches(access, own)
            && is_named
    }

    fn is_about(&self, access: &Access<'_>) -> bool {
        lists(&self.api_groups, access.group) && self.covers(access.resource)
    }

    /// Returns whether the rule covers a resource, as in RBAC: `*` covers subresources too, `*/scale` covers that
    /// subresource of all resources.
    fn covers(&self, resource: &str) -> bool {
        self.names(resource)
            || self.resources.iter().any(|item| {
                item == "*"
                    || item.strip_prefix("*/").is_some_and(|wanted| {
                        resource
                            .split_once('/')
                            .is_some_and(|(_, sub)| sub == wanted)
                    })
            })
    }

    fn names(&self, resource: &str) -> bool {
        self.resources.iter().any(|item| item == resource)
    }

    /// Returns whether the rule covers the scope of a request. A rule covers a cluster-scoped resource if it names
    /// it. `*` means namespaced resources, as in a `Role`; with all namespaces it means all resources, as in a
    /// `ClusterRole`.
    fn reaches(&self, access: &Access<'_>, own: Option<&str>) -> bool {
        let namespaces = self.namespaces.as_deref();
        let everywhere = namespaces.is_some_and(|names| names.iter().any(|name| name == "*"));
        everywhere
            || match access.scope {
                AccessScope::Cluster => self.names(access.resource),
                AccessScope::AllNamespaces => false,
                AccessScope::Namespace(namespace) => match namespaces {
                    None => own == Some(namespace),
                    Some(names) => names.iter().any(|name| name == namespace),
                },
            }
    }
}

fn lists(list: &[String], name: &str) -> bool {
    list.iter().any(|item| item == "*" || item == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn owned(list: &[&str]) -> Vec<String> {
        list.iter().map(ToString::to_string).collect()
    }

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> ApiRule {
        ApiRule {
            api_groups: owned(groups),
            resources: owned(resources),
            verbs: owned(verbs),
            ..ApiRule::default()
        }
    }

    fn permissions(rules: Vec<ApiRule>) -> Permissions {
        Permissions {
            api: Some(rules),
            ..Permissions::default()
        }
    }

    fn access<'a>(group: &'a str, resource: &'a str, verb: &'a str) -> Access<'a> {
        Access {
            verb,
            group,
            resource,
            scope: AccessScope::Namespace("own"),
            name: "a",
        }
    }

    fn allows(permissions: &Permissions, group: &str, resource: &str, verb: &str) -> bool {
        permissions.allows(&access(group, resource, verb), Some("own"))
    }

    #[test]
    fn without_a_list_everything_is_allowed_and_with_an_empty_one_nothing() {
        assert!(allows(
            &Permissions::default(),
            "apps",
            "deployments",
            "delete"
        ));
        assert!(!allows(&permissions(vec![]), "apps", "deployments", "get"));
    }

    #[test]
    fn group_resource_and_verb_must_meet_in_one_rule() {
        let permissions = permissions(vec![
            rule(&[""], &["configmaps"], &["get", "list"]),
            rule(&["apps"], &["deployments", "*/scale"], &["*"]),
        ]);
        let allows = |group, resource, verb| allows(&permissions, group, resource, verb);
        assert!(allows("", "configmaps", "get"));
        assert!(!allows("", "configmaps", "delete"));
        assert!(!allows("apps", "configmaps", "get"));
        assert!(allows("apps", "deployments", "delete"));
        assert!(!allows("apps", "deployments/status", "patch"));
        assert!(allows("apps", "statefulsets/scale", "patch"));
    }

    #[test]
    fn a_star_covers_every_group_and_every_subresource() {
        let permissions = permissions(vec![rule(&["*"], &["*"], &["get"])]);
        assert!(allows(&permissions, "batch", "jobs/status", "get"));
        assert!(!allows(&permissions, "batch", "jobs", "patch"));
    }

    #[test]
    fn a_rule_covers_the_own_namespace_unless_it_names_others() {
        let secrets = |namespaces: Option<&[&str]>, reach: AccessScope<'_>, own: Option<&str>| {
            let rule = ApiRule {
                namespaces: namespaces.map(owned),
                ..rule(&[""], &["secrets"], &["get"])
            };
            let access = Access {
                scope: reach,
                ..access("", "secrets", "get")
            };
            permissions(vec![rule]).allows(&access, own)
        };
        let (own, other) = (
            AccessScope::Namespace("own"),
            AccessScope::Namespace("other"),
        );
        assert!(secrets(None, own, Some("own")));
        assert!(!secrets(None, other, Some("own")));
        assert!(!secrets(None, AccessScope::AllNamespaces, Some("own")));
        assert!(!secrets(None, own, None), "a cluster-scoped one has none");
        assert!(secrets(Some(&["other"]), other, Some("own")));
        assert!(!secrets(Some(&["other"]), own, Some("own")));
        for reach in [own, other, AccessScope::AllNamespaces] {
            assert!(secrets(Some(&["*"]), reach, None), "{reach:?}");
        }
    }

    #[test]
    fn a_cluster_scoped_resource_is_named_or_everything_is_allowed() {
        let allows = |resources: &[&str], namespaces: Option<&[&str]>| {
            let rule = ApiRule {
                namespaces: namespaces.map(owned),
                ..rule(&["*"], resources, &["get"])
            };
            let access = Access {
                scope: AccessScope::Cluster,
                ..access("", "nodes", "get")
            };
            permissions(vec![rule]).allows(&access, Some("own"))
        };
        assert!(allows(&["nodes"], None));
        assert!(!allows(&["*"], None));
        assert!(!allows(&["*"], Some(&["own"])));
        assert!(allows(&["*"], Some(&["*"])));
    }

    #[test]
    fn names_are_heeded_as_in_rbac() {
        let rule = ApiRule {
            resource_names: owned(&["a"]),
            ..rule(&[""], &["configmaps"], &["*"])
        };
        let permissions = permissions(vec![rule]);
        let allows = |verb, name| {
            let access = Access {
                name,
                ..access("", "configmaps", verb)
            };
            permissions.allows(&access, Some("own"))
        };
        assert!(allows("get", "a") && allows("patch", "a") && allows("list", "a"));
        assert!(!allows("get", "b") && !allows("list", "") && !allows("create", ""));
    }
}
