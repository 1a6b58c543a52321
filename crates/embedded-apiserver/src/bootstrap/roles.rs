//! The roles and bindings of every cluster, exported from a real one.
//!
//! They are the output of `kubectl get clusterroles,clusterrolebindings -o json`, without those of control
//! plane components and without the fields that a server sets.

use serde_json::Value;

use crate::registry::Transaction;

const POLICY: &str = include_str!("policy.json");

/// Creates the roles and bindings that do not exist yet.
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
