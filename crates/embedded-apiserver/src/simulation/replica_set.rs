//! `ReplicaSet`s and `ReplicationController`s: create and delete Pods until the wanted number is reached.

use std::sync::Arc;

use serde_json::{Value, json};

use super::objects::{
    controlled, count, create, delete, is_terminating, labels, name, number, pod_of, write_status,
};
use super::pod::{available_at, is_active, is_ready};
use super::{Simulation, condition};
use crate::builtin::path::text;
use crate::registry::Transaction;

/// The numbers of Pods by state.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct PodCounts {
    pub(super) active: i64,
    pub(super) ready: i64,
    pub(super) available: i64,
    pub(super) terminating: i64,
}

impl PodCounts {
    /// Counts Pods, and queues the owner for the time at which more of them become available.
    pub(super) fn count(
        sim: &mut Simulation,
        tx: &Transaction<'_>,
        resource: &'static str,
        owner: &Value,
        pods: &[Arc<Value>],
    ) -> Self {
        let seconds = number(owner, &["spec", "minReadySeconds"]);
        let mut tally = Self::default();
        for pod in pods {
            if is_terminating(pod) {
                tally.terminating += 1;
            }
            if !is_active(pod) {
                continue;
            }
            tally.active += 1;
            tally.ready += i64::from(is_ready(pod));
            match available_at(pod, seconds) {
                Some(at) if at <= tx.now() => tally.available += 1,
                Some(at) => sim.requeue(at, resource, owner),
                None => {}
            }
        }
        tally
    }
}

pub(super) fn sync(
    sim: &mut Simulation,
    tx: &mut Transaction<'_>,
    resource: &'static str,
    set: &Value,
) {
    let mut refusal = None;
    if !is_terminating(set) {
        let pods = controlled(tx, "pods", set);
        let active: Vec<_> = pods.into_iter().filter(|pod| is_active(pod)).collect();
        let wanted = number(set, &["spec", "replicas"]);
        refusal = scale(tx, set, &active, wanted);
    }
    let pods = controlled(tx, "pods", set);
    let tally = PodCounts::count(sim, tx, resource, set, &pods);
    let template = &set["spec"]["template"]["metadata"]["labels"];
    let fits = |pod: &&Arc<Value>| {
        let template = template.as_object().into_iter().flatten();
        let mut template = template;
        is_active(pod) && template.all(|(key, value)| labels(pod)[key] == *value)
    };
    let labeled = count(pods.iter().filter(fits).count());
    let mut status = json!({
        "observedGeneration": set["metadata"]["generation"],
        "replicas": tally.active,
    });
    if resource == "replicasets.apps" {
        status["terminatingReplicas"] = json!(tally.terminating);
    }
    for (field, value) in [
        ("fullyLabeledReplicas", labeled),
        ("readyReplicas", tally.ready),
        ("availableReplicas", tally.available),
    ] {
        if value > 0 {
            status[field] = json!(value);
        }
    }
    if let Some(message) = refusal {
        let now = tx.now_rfc3339();
        let made = condition::make("ReplicaFailure", "True", "FailedCreate", &message, &now);
        condition::set(&mut status, made);
    }
    write_status(tx, resource, set, status);
}

/// Creates missing Pods, or deletes excess ones. Returns an error message if a Pod cannot be created.
fn scale(
    tx: &mut Transaction<'_>,
    set: &Value,
    active: &[Arc<Value>],
    wanted: i64,
) -> Option<String> {
    let there = count(active.len());
    for _ in there..wanted {
        let mut pod = pod_of(&set["spec"]["template"], set);
        pod["metadata"]["generateName"] = json!(format!("{}-", name(set)));
        if let Err(message) = create(tx, "pods", pod) {
            return Some(message);
        }
    }
    let mut victims: Vec<_> = active.iter().collect();
    // Pods without a node come first, then Pods that are not ready, then the youngest.
    victims.sort_by_key(|pod| {
        let scheduled = !text(pod, &["spec", "nodeName"]).is_empty();
        let created = text(pod, &["metadata", "creationTimestamp"]);
        (scheduled, is_ready(pod), std::cmp::Reverse(created))
    });
    let excess = usize::try_from(there - wanted).unwrap_or_default();
    for pod in victims.into_iter().take(excess) {
        delete(tx, "pods", pod);
    }
    None
}
