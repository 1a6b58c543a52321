//! The rules of RBAC that apply to this process.

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;
use serde::Deserialize;

use super::discovery::ApiKind;
use crate::clock::Instant;

/// The RBAC rules of this process, in one namespace or in all.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Rules {
    /// Servers in Go write an empty list as null.
    resource_rules: Option<Vec<Rule>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct Rule {
    verbs: Vec<String>,
    api_groups: Vec<String>,
    resources: Vec<String>,
    resource_names: Vec<String>,
}

impl Rules {
    /// Returns whether the verb is allowed for all objects of a kind: the kind serves the verb, and a rule
    /// allows it.
    pub fn allows(&self, kind: &ApiKind, verb: &str) -> bool {
        kind.can(verb)
            && self
                .resource_rules
                .iter()
                .flatten()
                .any(|rule| rule.permits(kind, verb))
    }

    /// Returns whether a rule names the kind, and does not only cover it with a wildcard.
    pub fn names(&self, kind: &ApiKind) -> bool {
        let names = |rule: &Rule| rule.resources.iter().any(|one| **one == *kind.plural);
        self.resource_rules
            .iter()
            .flatten()
            .any(|rule| names(rule) && contains(&rule.api_groups, &kind.gvk.group))
    }
}

impl Rule {
    fn permits(&self, kind: &ApiKind, verb: &str) -> bool {
        self.resource_names.is_empty()
            && contains(&self.verbs, verb)
            && contains(&self.api_groups, &kind.gvk.group)
            && contains(&self.resources, &kind.plural)
    }
}

fn contains(list: &[String], wanted: &str) -> bool {
    list.iter().any(|item| item == "*" || item == wanted)
}

/// Reviews of the last minute, by namespace.
#[derive(Default)]
pub(super) struct RulesReviews(pub(super) Mutex<HashMap<Option<Arc<str>>, Review>>);

/// The time of a request, with its answer.
pub(super) type Review = (Instant, Arc<Rules>);

/// Parses the rules in the response to a review.
pub(super) fn parse(review: &str) -> Result<Rules, serde_json::Error> {
    #[derive(Deserialize)]
    struct ReviewResponse {
        status: Rules,
    }
    serde_json::from_str(review).map(|review: ReviewResponse| review.status)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Gvk;

    fn kind(group: &str, plural: &str) -> ApiKind {
        ApiKind {
            gvk: Gvk::new(group, "v1", "K"),
            plural: plural.into(),
            namespaced: true,
            verbs: ["list", "delete"].map(Into::into).into(),
            has_status: false,
            has_scale: false,
        }
    }

    fn rules(rules: &serde_json::Value) -> Rules {
        serde_json::from_value(json!({"resourceRules": rules})).unwrap()
    }

    #[test]
    fn a_review_without_a_status_is_an_error() {
        assert!(parse(r#"{"status":{"resourceRules":null}}"#).is_ok());
        for review in [
            "{}",
            r#"{"status":null}"#,
            r#"{"status":{"resourceRules":1}}"#,
        ] {
            assert!(parse(review).is_err(), "{review}");
        }
    }

    #[test]
    fn rules_add_up_and_names_do_not_count() {
        let rules = rules(&json!([
            {"verbs": ["list"], "apiGroups": ["apps"], "resources": ["*"]},
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["deployments"]},
            {"verbs": ["delete"], "apiGroups": ["apps"], "resources": ["daemonsets"],
             "resourceNames": ["one"]},
        ]));
        let both = |kind: &ApiKind| {
            ["list", "delete"]
                .iter()
                .all(|verb| rules.allows(kind, verb))
        };
        assert!(both(&kind("apps", "deployments")));
        assert!(!both(&kind("apps", "daemonsets")));
        assert!(!both(&kind("", "configmaps")));
        assert!(
            !rules.allows(&kind("apps", "deployments"), "patch"),
            "not served"
        );
    }

    #[test]
    fn a_star_names_nothing() {
        let rules = rules(&json!([
            {"verbs": ["*"], "apiGroups": ["*"], "resources": ["*"]},
            {"verbs": ["list"], "apiGroups": ["apps"], "resources": ["deployments"]},
        ]));
        assert!(rules.names(&kind("apps", "deployments")));
        assert!(!rules.names(&kind("", "deployments")));
        assert!(!rules.names(&kind("", "secrets")));
    }
}
