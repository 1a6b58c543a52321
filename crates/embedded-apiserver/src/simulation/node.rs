//! The only node, on which all simulated Pods run.

use serde_json::{Value, json};

use super::condition;

use crate::VERSION;
use crate::registry::Transaction;

/// The name of the node.
pub(super) const NAME: &str = "node-0";

/// The address of the node, from the range that is reserved for documentation.
pub(super) const ADDRESS: &str = "192.0.2.10";

/// Creates the node if it does not exist, and makes it ready.
pub(super) fn ensure(tx: &mut Transaction<'_>) {
    if tx.get("nodes", "", NAME).is_some() {
        return;
    }
    let node = json!({
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {
            "name": NAME,
            "labels": {
                "kubernetes.io/hostname": NAME,
                "kubernetes.io/os": "linux",
                "kubernetes.io/arch": "amd64",
            },
        },
    });
    let Ok(created) = tx.create("nodes", "", node) else {
        return;
    };
    let mut node = (*created).clone();
    // The node is ready now, so its taint is removed.
    if let Some(spec) = node["spec"].as_object_mut() {
        spec.remove("taints");
    }
    super::objects::update(tx, "nodes", node);
    if let Some(node) = tx.get("nodes", "", NAME) {
        let status = status(node["status"].clone(), &tx.now_rfc3339());
        super::objects::write_status(tx, "nodes", &node, status);
    }
}

/// Completes the status that the kubelet of a healthy node reports.
fn status(mut status: Value, now: &str) -> Value {
    let amounts = json!({"cpu": "100k", "memory": "100Ti", "pods": "100k"});
    status["nodeInfo"]["kubeletVersion"] = json!(VERSION);
    status["capacity"] = amounts.clone();
    status["allocatable"] = amounts;
    status["addresses"] = json!([
        {"type": "InternalIP", "address": ADDRESS},
        {"type": "Hostname", "address": NAME},
    ]);
    let conditions = [
        (
            "MemoryPressure",
            "False",
            "KubeletHasSufficientMemory",
            "kubelet has sufficient memory available",
        ),
        (
            "DiskPressure",
            "False",
            "KubeletHasNoDiskPressure",
            "kubelet has no disk pressure",
        ),
        (
            "PIDPressure",
            "False",
            "KubeletHasSufficientPID",
            "kubelet has sufficient PID available",
        ),
        (
            "Ready",
            "True",
            "KubeletReady",
            "kubelet is posting ready status",
        ),
    ];
    let condition = |(kind, holds, reason, message)| {
        let mut made = condition::make(kind, holds, reason, message, now);
        made["lastHeartbeatTime"] = json!(now);
        made
    };
    status["conditions"] = conditions.into_iter().map(condition).collect();
    status
}
