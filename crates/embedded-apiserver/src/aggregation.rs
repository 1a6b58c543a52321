//! Aggregated ClusterRoles, whose rules are those of all ClusterRoles that their selectors select.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/rbac/#aggregated-clusterroles>

use std::sync::Arc;

use serde_json::Value;

use crate::builtin::path::{items, text};
use crate::registry::{Controller, Transaction};
use crate::select::LabelSelector;
use crate::store::Event;

const RESOURCE: &str = "clusterroles.rbac.authorization.k8s.io";

/// The controller that updates the rules of aggregated ClusterRoles.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Aggregator;

impl Controller for Aggregator {
    fn observe(&mut self, tx: &mut Transaction<'_>, event: &Event) {
        if &**event.resource.id() != RESOURCE {
            return;
        }
        let roles = tx.list(RESOURCE, None);
        for role in &roles {
            if role["aggregationRule"].is_null() {
                continue;
            }
            let rules = aggregated(role, &roles);
            if items(&role["rules"]) == rules.as_slice() {
                continue;
            }
            let mut role = (**role).clone();
            role["rules"] = Value::Array(rules);
            if let Err(error) = tx.update(RESOURCE, "", role) {
                tracing::warn!(%error, "an aggregated role is refused");
            }
        }
    }
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
