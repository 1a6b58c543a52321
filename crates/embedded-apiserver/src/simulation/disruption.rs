//! `PodDisruptionBudgets`: counts the Pods that can be evicted.

use serde_json::{Value, json};

use super::condition;
use super::objects::{count, labels, namespace, selects, write_status};
use super::pod::{is_active, is_ready};
use super::rollout::scaled;
use crate::registry::Transaction;

pub(super) fn sync(tx: &mut Transaction<'_>, budget: &Value) {
    let mut pods = tx.list("pods", Some(namespace(budget)));
    pods.retain(|pod| is_active(pod) && selects(budget, labels(pod)));
    let expected = count(pods.len());
    let healthy = count(pods.iter().filter(|pod| is_ready(pod)).count());
    let spec = &budget["spec"];
    let desired = if spec["maxUnavailable"].is_null() {
        scaled(&spec["minAvailable"], expected, true)
    } else {
        (expected - scaled(&spec["maxUnavailable"], expected, true)).max(0)
    };
    let allowed = if expected > 0 {
        (healthy - desired).max(0)
    } else {
        0
    };
    let now = tx.now_rfc3339();
    let (holds, reason) = if allowed > 0 {
        ("True", "SufficientPods")
    } else {
        ("False", "InsufficientPods")
    };
    let mut status = json!({
        "conditions": budget["status"]["conditions"],
        "observedGeneration": budget["metadata"]["generation"],
        "currentHealthy": healthy,
        "desiredHealthy": desired,
        "disruptionsAllowed": allowed,
        "expectedPods": expected,
    });
    let mut made = condition::make("DisruptionAllowed", holds, reason, "", &now);
    made["observedGeneration"] = budget["metadata"]["generation"].clone();
    condition::set(&mut status, made);
    write_status(tx, "poddisruptionbudgets.policy", budget, status);
}
