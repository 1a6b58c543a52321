//! Deployments: a ReplicaSet per template, the rollout from old ReplicaSets to the new one, and the status.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use super::objects::{
    create, delete, is_terminating, name, namespace, number, owner_reference, put, update,
    write_status,
};
use super::owned_sets::{HASH, REVISION, ReplicaSets, SETS, revision};
use super::{Simulation, condition, hash, rollout};
use crate::builtin::path::{at, text};
use crate::registry::Transaction;

pub(super) const RESOURCE: &str = "deployments.apps";

/// The annotations of a Deployment that its ReplicaSets do not get.
const NOT_COPIED: [&str; 5] = [
    "kubectl.kubernetes.io/last-applied-configuration",
    "deployment.kubernetes.io/revision",
    "deployment.kubernetes.io/revision-history",
    "deployment.kubernetes.io/desired-replicas",
    "deployment.kubernetes.io/max-replicas",
];

pub(super) fn sync(sim: &mut Simulation, tx: &mut Transaction<'_>, deployment: &Value) {
    if is_terminating(deployment) {
        return;
    }
    let paused = deployment["spec"]["paused"] == json!(true);
    let mut sets = ReplicaSets::list(tx, deployment);
    let mut made = false;
    if !paused {
        made = sets.new.is_none();
        ensure_new(tx, deployment, &mut sets);
    }
    rollout::step(tx, deployment, &sets, paused);
    let Some(live) = tx.get(RESOURCE, namespace(deployment), name(deployment)) else {
        return;
    };
    let sets = ReplicaSets::list(tx, &live);
    report(sim, tx, &live, &sets, made);
    clean(tx, &live, &sets);
}

/// Creates the ReplicaSet of the current template, or gives it the newest revision.
fn ensure_new(tx: &mut Transaction<'_>, deployment: &Value, sets: &mut ReplicaSets) {
    let newest = sets.old.iter().map(|set| revision(set)).max();
    let next = newest.unwrap_or_default() + 1;
    let mut wanted = next;
    match &sets.new {
        Some(set) if revision(set) >= next => wanted = revision(set),
        Some(set) => {
            let mut set = (**set).clone();
            set["metadata"]["annotations"][REVISION] = json!(next.to_string());
            update(tx, SETS, set);
        }
        None => sets.new = make(tx, deployment, sets, next),
    }
    if let Some(set) = &sets.new {
        sets.new = tx.get(SETS, namespace(set), name(set));
    }
    let annotation = text(deployment, &["metadata", "annotations", REVISION]);
    if annotation != wanted.to_string() {
        let mut deployment = deployment.clone();
        deployment["metadata"]["annotations"][REVISION] = json!(wanted.to_string());
        // The real controller writes the annotation with the status, so the generation does not change.
        put(tx, RESOURCE, deployment);
    }
}

fn make(
    tx: &mut Transaction<'_>,
    deployment: &Value,
    sets: &ReplicaSets,
    revision: i64,
) -> Option<Arc<Value>> {
    let template = &deployment["spec"]["template"];
    let hash = hash::template(template, number(deployment, &["status", "collisionCount"]));
    let mut labels = template["metadata"]["labels"].clone();
    labels[HASH] = json!(hash);
    let mut template = template.clone();
    template["metadata"]["labels"] = labels.clone();
    let mut selector = deployment["spec"]["selector"].clone();
    selector["matchLabels"][HASH] = json!(hash);
    let annotations = deployment["metadata"]["annotations"]
        .as_object()
        .into_iter();
    let copied = annotations.flatten();
    let copied = copied.filter(|(key, _)| !NOT_COPIED.contains(&key.as_str()));
    let mut annotations: Map<String, Value> = copied
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect();
    annotations.insert(REVISION.to_owned(), json!(revision.to_string()));
    annotations.extend(rollout::size_annotations(deployment));
    let set = json!({
        "apiVersion": "apps/v1",
        "kind": "ReplicaSet",
        "metadata": {
            "name": format!("{}-{hash}", name(deployment)),
            "namespace": namespace(deployment),
            "labels": labels,
            "annotations": annotations,
            "ownerReferences": [owner_reference(deployment)],
        },
        "spec": {
            "replicas": rollout::first_size(deployment, sets),
            "minReadySeconds": deployment["spec"]["minReadySeconds"],
            "selector": selector,
            "template": template,
        },
    });
    create(tx, SETS, set).ok()
}

/// Deletes the ReplicaSets of old revisions beyond the limit.
fn clean(tx: &mut Transaction<'_>, deployment: &Value, sets: &ReplicaSets) {
    let Some(limit) = at(deployment, &["spec", "revisionHistoryLimit"]).as_u64() else {
        return;
    };
    if !is_complete(deployment) {
        return;
    }
    let is_empty = |set: &&Arc<Value>| {
        number(set, &["spec", "replicas"]) == 0
            && number(set, &["status", "replicas"]) == 0
            && !is_terminating(set)
    };
    let old: Vec<_> = sets.old.iter().filter(is_empty).collect();
    let limit = usize::try_from(limit).unwrap_or(usize::MAX);
    let excess = old.len().saturating_sub(limit);
    for set in old.into_iter().take(excess) {
        delete(tx, SETS, set);
    }
}

fn is_complete(deployment: &Value) -> bool {
    let wanted = number(deployment, &["spec", "replicas"]);
    ["replicas", "updatedReplicas", "availableReplicas"]
        .iter()
        .all(|field| number(deployment, &["status", field]) == wanted)
}

/// Writes the status of a Deployment.
fn report(
    sim: &mut Simulation,
    tx: &mut Transaction<'_>,
    deployment: &Value,
    sets: &ReplicaSets,
    made: bool,
) {
    let before = &deployment["status"];
    let available = sets.sum(&["status", "availableReplicas"]);
    let wanted_of_sets = sets.sum(&["spec", "replicas"]);
    let updated = sets
        .new
        .as_deref()
        .map_or(0, |set| number(set, &["status", "replicas"]));
    let mut status = json!({
        "observedGeneration": deployment["metadata"]["generation"],
        "terminatingReplicas": sets.sum(&["status", "terminatingReplicas"]),
        "conditions": before["conditions"],
    });
    for (field, value) in [
        ("replicas", sets.sum(&["status", "replicas"])),
        ("updatedReplicas", updated),
        ("readyReplicas", sets.sum(&["status", "readyReplicas"])),
        ("availableReplicas", available),
        ("unavailableReplicas", wanted_of_sets - available),
    ] {
        if value > 0 {
            status[field] = json!(value);
        }
    }
    if !before["collisionCount"].is_null() {
        status["collisionCount"] = before["collisionCount"].clone();
    }
    let now = tx.now_rfc3339();
    let wanted = number(deployment, &["spec", "replicas"]);
    let (unavailable, _) = rollout::bounds(deployment);
    let made_condition = |kind: &str, holds: &str, reason: &str, message: &str| {
        let mut made = condition::make(kind, holds, reason, message, &now);
        made["lastUpdateTime"] = json!(now);
        made
    };
    condition::append(
        &mut status,
        if available >= wanted - unavailable {
            let message = "Deployment has minimum availability.";
            made_condition("Available", "True", "MinimumReplicasAvailable", message)
        } else {
            let message = "Deployment does not have minimum availability.";
            made_condition("Available", "False", "MinimumReplicasUnavailable", message)
        },
    );
    let progress = progress(sim, tx.now(), deployment, sets, &status, made);
    if let Some((holds, reason, message)) = progress {
        condition::append(
            &mut status,
            made_condition("Progressing", holds, reason, &message),
        );
    }
    write_status(tx, RESOURCE, deployment, status);
}

/// Returns the condition of the rollout if it changes.
fn progress(
    sim: &mut Simulation,
    now: Timestamp,
    deployment: &Value,
    sets: &ReplicaSets,
    status: &Value,
    made: bool,
) -> Option<(&'static str, &'static str, String)> {
    let deadline = at(deployment, &["spec", "progressDeadlineSeconds"]).as_i64()?;
    let before = condition::find(&deployment["status"], "Progressing");
    let reason = before.map_or("", |one| text(one, &["reason"]));
    if deployment["spec"]["paused"] == json!(true) {
        let message = "Deployment is paused".to_owned();
        return Some(("Unknown", "DeploymentPaused", message));
    }
    if reason == "DeploymentPaused" {
        return Some((
            "Unknown",
            "DeploymentResumed",
            "Deployment is resumed".to_owned(),
        ));
    }
    let set = sets.new.as_deref().map_or("", name);
    let mut probe = deployment.clone();
    probe["status"] = status.clone();
    if is_complete(&probe) {
        let message = format!("ReplicaSet {set:?} has successfully progressed.");
        return Some(("True", "NewReplicaSetAvailable", message));
    }
    if made {
        let message = format!("Created new replica set {set:?}");
        return Some(("True", "NewReplicaSetCreated", message));
    }
    // A completed rollout does not restart when Pods fail later.
    let was_done = reason == "NewReplicaSetAvailable"
        && number(status, &["replicas"]) == number(status, &["updatedReplicas"]);
    if was_done || reason == "ProgressDeadlineExceeded" && !has_grown(deployment, status) {
        return None;
    }
    if before.is_none() || has_grown(deployment, status) {
        let message = format!("ReplicaSet {set:?} is progressing.");
        return Some(("True", "ReplicaSetUpdated", message));
    }
    let since: Timestamp = text(before?, &["lastUpdateTime"]).parse().ok()?;
    let due = since + SignedDuration::from_secs(deadline);
    if due <= now {
        let message = format!("ReplicaSet {set:?} has timed out progressing.");
        return Some(("False", "ProgressDeadlineExceeded", message));
    }
    sim.requeue(due, RESOURCE, deployment);
    None
}

/// Returns whether the rollout made progress.
fn has_grown(deployment: &Value, status: &Value) -> bool {
    let before = &deployment["status"];
    let grows = |field: &str| number(status, &[field]) > number(before, &[field]);
    let old = |status: &Value| number(status, &["replicas"]) - number(status, &["updatedReplicas"]);
    ["updatedReplicas", "readyReplicas", "availableReplicas"]
        .iter()
        .any(|field| grows(field))
        || old(status) < old(before)
}
