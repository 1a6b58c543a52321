//! The objects that every cluster has from the start.

use serde_json::json;

use super::access;
use super::registry::Transaction;

/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces>
const NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// Creates what is not there yet.
pub(super) fn create(tx: &mut Transaction<'_>) {
    access::bootstrap::create(tx);
    for name in NAMESPACES {
        if tx.get("namespaces", "", name).is_none() {
            let namespace = json!({
                "apiVersion": "v1",
                "kind": "Namespace",
                "metadata": {"name": name},
            });
            if let Err(error) = tx.create("namespaces", "", namespace) {
                tracing::error!(%error, name, "a namespace of the system is refused");
            }
        }
    }
}
