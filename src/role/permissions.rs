//! What a role may do beyond computing: API requests, environment variables, HTTP hosts.

/// The `permissions` of a role's `meta/main.yaml`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Permissions {
    /// API requests that are allowed; `None` for whatever the operator itself may do.
    pub api: Option<Vec<ApiRule>>,
    /// Environment variables that the role may read; a trailing `*` stands for any ending.
    pub env: Vec<String>,
    /// Hosts that the role may send HTTP requests to.
    pub http: Vec<String>,
}

/// One rule, as in RBAC: every verb on every resource in every group that it lists; `*` is any.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ApiRule {
    /// API groups; `""` is the core group.
    pub api_groups: Vec<String>,
    /// Plural names, with subresource where one is meant: `deployments`, `deployments/scale`, `*/scale`.
    pub resources: Vec<String>,
    /// `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, …
    pub verbs: Vec<String>,
}

impl Permissions {
    /// Whether the role may do `verb` to `resource` (`deployments`, `deployments/scale`) of `group`.
    pub fn allows(&self, group: &str, resource: &str, verb: &str) -> bool {
        let Some(rules) = &self.api else {
            return true;
        };
        rules.iter().any(|rule| rule.allows(group, resource, verb))
    }
}

impl ApiRule {
    fn allows(&self, group: &str, resource: &str, verb: &str) -> bool {
        let lists =
            |list: &[String], name: &str| list.iter().any(|item| item == "*" || item == name);
        lists(&self.api_groups, group) && lists(&self.verbs, verb) && self.covers(resource)
    }

    /// As RBAC has it: `*` covers subresources too, `*/scale` that subresource of everything.
    fn covers(&self, resource: &str) -> bool {
        self.resources.iter().any(|item| {
            item == "*"
                || item == resource
                || item.strip_prefix("*/").is_some_and(|wanted| {
                    resource
                        .split_once('/')
                        .is_some_and(|(_, sub)| sub == wanted)
                })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rule(groups: &[&str], resources: &[&str], verbs: &[&str]) -> ApiRule {
        let owned = |list: &[&str]| list.iter().map(ToString::to_string).collect();
        ApiRule {
            api_groups: owned(groups),
            resources: owned(resources),
            verbs: owned(verbs),
        }
    }

    fn permissions(rules: Vec<ApiRule>) -> Permissions {
        Permissions {
            api: Some(rules),
            ..Permissions::default()
        }
    }

    #[test]
    fn without_a_list_everything_is_allowed_and_with_an_empty_one_nothing() {
        assert!(Permissions::default().allows("apps", "deployments", "delete"));
        assert!(!permissions(vec![]).allows("apps", "deployments", "get"));
    }

    #[test]
    fn group_resource_and_verb_must_meet_in_one_rule() {
        let permissions = permissions(vec![
            rule(&[""], &["configmaps"], &["get", "list"]),
            rule(&["apps"], &["deployments", "*/scale"], &["*"]),
        ]);
        assert!(permissions.allows("", "configmaps", "get"));
        assert!(!permissions.allows("", "configmaps", "delete"));
        assert!(!permissions.allows("apps", "configmaps", "get"));
        assert!(permissions.allows("apps", "deployments", "delete"));
        assert!(!permissions.allows("apps", "deployments/status", "patch"));
        assert!(permissions.allows("apps", "statefulsets/scale", "patch"));
    }

    #[test]
    fn a_star_covers_every_group_and_every_subresource() {
        let permissions = permissions(vec![rule(&["*"], &["*"], &["get"])]);
        assert!(permissions.allows("batch", "jobs/status", "get"));
        assert!(!permissions.allows("batch", "jobs", "patch"));
    }
}
