//! Pods: schedules, starts and ends them.

use jiff::SignedDuration;
use jiff::Timestamp;
use serde_json::{Value, json};

use super::control::{Failure, PlannedBehavior};
use super::objects::{
    controller, is_terminating, labels, name, namespace, number, put, write_status,
};
use super::{Simulation, condition, node, status};
use crate::builtin::path::{items, text};
use crate::registry::Transaction;

/// Returns whether a Pod has not ended and is not terminating.
pub(super) fn is_active(pod: &Value) -> bool {
    !is_finished(pod) && !is_terminating(pod)
}

/// Returns whether a Pod has ended.
pub(super) fn is_finished(pod: &Value) -> bool {
    matches!(text(pod, &["status", "phase"]), "Succeeded" | "Failed")
}

/// Returns whether a Pod is ready.
pub(super) fn is_ready(pod: &Value) -> bool {
    condition::is_true(&pod["status"], "Ready")
}

/// Returns the time at which a Pod has been ready for a number of seconds, if it is ready.
pub(super) fn available_at(pod: &Value, seconds: i64) -> Option<Timestamp> {
    let ready = condition::find(&pod["status"], "Ready")?;
    let since: Timestamp = text(ready, &["lastTransitionTime"]).parse().ok()?;
    let is_ready = ready["status"] == "True";
    is_ready.then(|| since + SignedDuration::from_secs(seconds.max(0)))
}

pub(super) fn sync(sim: &mut Simulation, tx: &mut Transaction<'_>, pod: &Value) {
    if is_terminating(pod) {
        end(sim, tx, pod);
    } else if is_finished(pod) {
        // A finished Pod does not change any more.
    } else if text(pod, &["spec", "nodeName"]).is_empty() {
        schedule(tx, pod);
    } else {
        run(sim, tx, pod);
    }
}

/// Ends the containers of a deleted Pod immediately.
fn end(sim: &Simulation, tx: &mut Transaction<'_>, pod: &Value) {
    let waits = number(pod, &["metadata", "deletionGracePeriodSeconds"]) > 0;
    if !waits || sim.control.planned_behavior(tx, pod).held {
        return;
    }
    if let Err(error) = tx.delete_now("pods", namespace(pod), name(pod)) {
        tracing::debug!(%error, "a Pod's end is refused");
    }
}

/// Schedules a Pod to the only node, if the node accepts the Pod and its claims are bound.
fn schedule(tx: &mut Transaction<'_>, pod: &Value) {
    if pod["spec"]["schedulingGates"].is_array() {
        return;
    }
    let now = tx.now_rfc3339();
    let Some(why) = obstacle(tx, pod) else {
        bind(tx, pod);
        return;
    };
    let mut status = pod["status"].clone();
    let made = condition::make("PodScheduled", "False", "Unschedulable", &why, &now);
    condition::set(&mut status, made);
    write_status(tx, "pods", pod, status);
}

/// Returns the reason that no node accepts a Pod.
fn obstacle(tx: &Transaction<'_>, pod: &Value) -> Option<String> {
    let Some(node) = tx.get("nodes", "", node::NAME) else {
        return Some("no nodes available to schedule pods".to_owned());
    };
    for volume in items(&pod["spec"]["volumes"]) {
        let claim = text(volume, &["persistentVolumeClaim", "claimName"]);
        if claim.is_empty() {
            continue;
        }
        let found = tx.get("persistentvolumeclaims", namespace(pod), claim);
        match found {
            None => return Some(format!("persistentvolumeclaim {claim:?} not found")),
            Some(found) if text(&found, &["status", "phase"]) != "Bound" => {
                let why = "pod has unbound immediate PersistentVolumeClaims";
                return Some(format!("0/1 nodes are available: {why}. not found"));
            }
            Some(_) => {}
        }
    }
    let wanted = pod["spec"]["nodeSelector"].as_object();
    let fits = |(key, value): (&String, &Value)| labels(&node)[key] == *value;
    let fits = wanted.is_none_or(|wanted| wanted.iter().all(fits));
    (!fits).then(|| {
        let why = "1 node(s) didn't match Pod's node affinity/selector";
        format!("0/1 nodes are available: {why}.")
    })
}

/// Binds a Pod to the node, as a scheduler does. An update cannot set the node.
fn bind(tx: &mut Transaction<'_>, pod: &Value) {
    let now = tx.now_rfc3339();
    let mut bound = pod.clone();
    bound["spec"]["nodeName"] = json!(node::NAME);
    let scheduled = json!({
        "type": "PodScheduled",
        "status": "True",
        "lastProbeTime": null,
        "lastTransitionTime": now,
    });
    condition::set(&mut bound["status"], scheduled);
    put(tx, "pods", bound);
}

/// Performs the next step of a Pod on its node.
fn run(sim: &mut Simulation, tx: &mut Transaction<'_>, pod: &Value) {
    let fate = sim.control.planned_behavior(tx, pod);
    if fate.held || is_waiting(sim, tx, pod, fate) {
        return;
    }
    let now = tx.now_rfc3339();
    let address = address(sim, pod);
    let status = match fate.failure {
        Some(Failure::ImagePullBackOff) => status::waiting(pod, "ImagePullBackOff", &now),
        Some(Failure::CrashLoopBackOff) => status::crashing(pod, &address, &now),
        Some(Failure::NeverReady) => status::running(pod, &address, false, &now),
        Some(Failure::Exit) => status::ended(pod, &address, 1, &now),
        None if is_of_job(pod) => status::ended(pod, &address, 0, &now),
        None => status::running(pod, &address, true, &now),
    };
    write_status(tx, "pods", pod, status);
}

fn is_waiting(
    sim: &mut Simulation,
    tx: &Transaction<'_>,
    pod: &Value,
    fate: PlannedBehavior,
) -> bool {
    let created = text(pod, &["metadata", "creationTimestamp"]);
    let delay = SignedDuration::try_from(fate.delay).unwrap_or(SignedDuration::MAX);
    let Ok(due) = created
        .parse::<Timestamp>()
        .map(|created| created.saturating_add(delay))
    else {
        return false;
    };
    match due {
        Ok(due) if due > tx.now() && !is_ready(pod) => {
            sim.requeue(due, "pods", pod);
            true
        }
        _ => false,
    }
}

/// Returns the address of the Pod, or allocates the next one.
fn address(sim: &mut Simulation, pod: &Value) -> String {
    let given = text(pod, &["status", "podIP"]);
    if !given.is_empty() {
        return given.to_owned();
    }
    sim.addresses += 1;
    let [_, a, b, c] = sim.addresses.to_be_bytes();
    format!("10.{}.{b}.{c}", a.wrapping_add(244))
}

fn is_of_job(pod: &Value) -> bool {
    controller(pod).is_some_and(|owner| owner["kind"] == "Job")
}
