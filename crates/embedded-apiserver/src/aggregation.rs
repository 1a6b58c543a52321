//! Aggregated ClusterRoles, whose rules are those of all ClusterRoles that their selectors select.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles>

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::Value;

use crate::builtin::path::{items, text};
use crate::labels::LabelSelector;
use crate::registry::{Controller, Transaction};
use crate::store::Event;

const RESOURCE: &str = "clusterroles.rbac.authorization.k8s.io";

/// The controller that updates the rules of aggregated ClusterRoles.
#[derive(Clone, Debug, Default)]
pub(crate) struct Aggregator {
    /// Names and resourceVersions of writes whose events the controller has not received. It ignores these
    /// events, so that ClusterRoles that aggregate each other in a circle cause a bounded number of writes.
    own_writes: BTreeSet<(String, String)>,
}

impl Controller for Aggregator {
    fn observe(&mut self, tx: &mut Transaction<'_>, event: &Event) {
        if &**event.resource.id() != RESOURCE || self.own_writes.remove(&version(&event.object)) {
            return;
        }
        let roles = tx.list(RESOURCE, None);
        let aggregated = roles.iter().filter(|role| is_aggregated(role)).count();
        // An aggregated role can select another one. Without a circle, each round completes at least one.
        for _ in 0..aggregated {
            if !self.update_all(tx) {
                return;
            }
        }
    }
}

impl Aggregator {
    /// Updates the aggregated roles once. Returns whether the rules of a role changed.
    fn update_all(&mut self, tx: &mut Transaction<'_>) -> bool {
        let roles = tx.list(RESOURCE, None);
        let mut has_changed = false;
        for role in roles.iter().filter(|role| is_aggregated(role)) {
            let rules = aggregated(role, &roles);
            if items(&role["rules"]) == rules.as_slice() {
                continue;
            }
            let mut role = (**role).clone();
            role["rules"] = Value::Array(rules);
            match tx.update(RESOURCE, "", role) {
                Ok(role) => {
                    has_changed = true;
                    self.own_writes.insert(version(&role));
                }
                Err(error) => tracing::warn!(%error, "an aggregated role is refused"),
            }
        }
        has_changed
    }
}

fn is_aggregated(role: &Value) -> bool {
    !role["aggregationRule"].is_null()
}

/// Returns the name and the resourceVersion of a role.
fn version(role: &Value) -> (String, String) {
    let field = |key: &str| text(role, &["metadata", key]).to_owned();
    (field("name"), field("resourceVersion"))
}

/// Returns the rules of the ClusterRoles that a role selects, ordered by selector and name, without duplicates.
fn aggregated(role: &Value, roles: &[Arc<Value>]) -> Vec<Value> {
    let selectors = items(&role["aggregationRule"]["clusterRoleSelectors"]);
    let selectors: Vec<LabelSelector> = selectors
        .iter()
        .filter_map(|one| LabelSelector::from_value(one).ok())
        .collect();
    let mut rules: Vec<Value> = Vec::new();
    for selector in &selectors {
        for other in roles {
            let labels = &other["metadata"]["labels"];
            let is_itself = text(other, &["metadata", "name"]) == text(role, &["metadata", "name"]);
            if is_itself || !selector.matches(|key| labels[key].as_str()) {
                continue;
            }
            for rule in items(&other["rules"]) {
                if !rules.contains(rule) {
                    rules.push(rule.clone());
                }
            }
        }
    }
    rules
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ApiServer, Options};

    fn create(server: &ApiServer, name: &str, selected: &str, resource: &str) {
        let role = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": name, "labels": {"role": name}},
            "aggregationRule": {"clusterRoleSelectors": [{"matchLabels": {"role": selected}}]},
            "rules": [{"apiGroups": [""], "resources": [resource], "verbs": ["get"]}],
        });
        let created = server.registry.write(|tx| tx.create(RESOURCE, "", role));
        created.unwrap();
    }

    fn get(server: &ApiServer, name: &str) -> Arc<Value> {
        let found = server.registry.write(|tx| tx.get(RESOURCE, "", name));
        found.unwrap()
    }

    fn revision(server: &ApiServer, name: &str) -> u64 {
        let role = get(server, name);
        text(&role, &["metadata", "resourceVersion"])
            .parse()
            .unwrap()
    }

    #[test]
    fn a_chain_of_aggregated_roles_gets_the_rules_of_its_end() {
        let server = ApiServer::new(Options::default());
        create(&server, "a", "b", "pods");
        create(&server, "b", "c", "secrets");
        let end = json!({
            "apiVersion": "rbac.authorization.k8s.io/v1",
            "kind": "ClusterRole",
            "metadata": {"name": "z", "labels": {"role": "c"}},
            "rules": [{"apiGroups": [""], "resources": ["services"], "verbs": ["list"]}],
        });
        let rules = end["rules"].clone();
        let created = server.registry.write(|tx| tx.create(RESOURCE, "", end));
        created.unwrap();
        assert_eq!(get(&server, "a")["rules"], rules);
        assert_eq!(get(&server, "b")["rules"], rules);
    }

    #[test]
    fn a_circle_of_aggregated_roles_makes_a_bounded_number_of_writes() {
        let server = ApiServer::new(Options::default());
        create(&server, "a", "b", "pods");
        create(&server, "b", "c", "secrets");
        let before = revision(&server, "b");
        create(&server, "c", "a", "services");
        let after = ["a", "b", "c"].map(|name| revision(&server, name));
        assert!(
            after.iter().all(|after| after - before < 100),
            "{before} {after:?}"
        );
    }
}
