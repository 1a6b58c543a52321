//! The roles and bindings that every cluster has, from a real one.
//!
//! Made by `kubectl get clusterroles,clusterrolebindings -o json`, of which those for components of a
//! control plane were left out, and what a server fills in itself.

use serde_json::Value;

use crate::registry::Transaction;

const POLICY: &str = include_str!("policy.json");

/// Creates what is not there yet.
pub(crate) fn create(tx: &mut Transaction<'_>) {
    let objects = POLICY
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    for object in objects {
        let resource = if object["kind"] == "ClusterRole" {
            "clusterroles.rbac.authorization.k8s.io"
        } else {
            "clusterrolebindings.rbac.authorization.k8s.io"
        };
        let name = object["metadata"]["name"].as_str().unwrap_or_default();
        if tx.get(resource, "", name).is_some() {
            continue;
        }
        if let Err(error) = tx.create(resource, "", object) {
            tracing::error!(%error, "a role of the system is refused");
        }
    }
}
