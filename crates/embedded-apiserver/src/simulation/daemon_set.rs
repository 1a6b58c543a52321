//! DaemonSets: one Pod on the only node.

use serde_json::{Value, json};

use super::objects::{
    controlled, create, delete, is_terminating, labels, name, pod_of, write_status,
};
use super::pod::{is_active, is_finished, is_ready};
use super::replica_set::PodCounts;
use super::{Simulation, node, revision};
use crate::builtin::path::text;
use crate::registry::Transaction;

const RESOURCE: &str = "daemonsets.apps";
const HASH: &str = "controller-revision-hash";
const GENERATION: &str = "deprecated.daemonset.template.generation";

pub(super) fn sync(sim: &mut Simulation, tx: &mut Transaction<'_>, set: &Value) {
    let Some(revision) = revision::ensure(tx, set, HASH) else {
        return;
    };
    let wanted = tx
        .get("nodes", "", node::NAME)
        .is_some_and(|node| runs_on(set, &node));
    if !is_terminating(set) {
        step(tx, set, &revision.hash, wanted);
    }
    let pods = controlled(tx, "pods", set);
    let tally = PodCounts::count(sim, tx, RESOURCE, set, &pods);
    let is_updated = |pod: &Value| text(pod, &["metadata", "labels", HASH]) == revision.hash;
    let updated = pods.iter().any(|pod| is_active(pod) && is_updated(pod));
    let desired = i64::from(wanted);
    let placed = tally.active.min(1);
    let mut status = json!({
        "observedGeneration": set["metadata"]["generation"],
        "currentNumberScheduled": placed.min(desired),
        "desiredNumberScheduled": desired,
        "numberMisscheduled": (placed - desired).max(0),
        "numberReady": tally.ready.min(desired),
    });
    let available = tally.available.min(desired);
    for (field, value) in [
        ("numberAvailable", available),
        ("numberUnavailable", desired - available),
        ("updatedNumberScheduled", i64::from(updated).min(desired)),
    ] {
        if value > 0 {
            status[field] = json!(value);
        }
    }
    write_status(tx, RESOURCE, set, status);
    revision::clean(tx, set, &[&revision.name]);
}

/// Returns whether the template's node selector matches the node.
fn runs_on(set: &Value, node: &Value) -> bool {
    let selector = set["spec"]["template"]["spec"]["nodeSelector"].as_object();
    let mut wanted = selector.into_iter().flatten();
    wanted.all(|(key, value)| labels(node)[key] == *value)
}

fn step(tx: &mut Transaction<'_>, set: &Value, hash: &str, wanted: bool) {
    let rolling = text(set, &["spec", "updateStrategy", "type"]) != "OnDelete";
    let mut there = false;
    for pod in controlled(tx, "pods", set) {
        if is_terminating(&pod) {
            there = true;
            continue;
        }
        let outdated = text(&pod, &["metadata", "labels", HASH]) != hash;
        if !wanted || is_finished(&pod) || rolling && outdated {
            delete(tx, "pods", &pod);
        } else {
            there = true;
        }
    }
    if !wanted || there {
        return;
    }
    let mut pod = pod_of(&set["spec"]["template"], set);
    pod["metadata"]["generateName"] = json!(format!("{}-", name(set)));
    pod["metadata"]["labels"][HASH] = json!(hash);
    let generation = text(set, &["metadata", "annotations", GENERATION]);
    pod["metadata"]["labels"]["pod-template-generation"] = json!(generation);
    let there = controlled(tx, "pods", set);
    // A deleted Pod can exist until its containers have ended.
    if there
        .iter()
        .all(|pod| is_terminating(pod) || !is_ready(pod))
    {
        let _refused = create(tx, "pods", pod);
    }
}
