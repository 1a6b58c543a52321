//! Rollouts: the sizes of the old and new ReplicaSets of a Deployment.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use super::objects::{number, update};
use super::owned_sets::{ReplicaSets, SETS};
use crate::builtin::path::text;
use crate::registry::Transaction;

/// Returns the maximum numbers of unavailable and of additional Pods.
pub(super) fn bounds(deployment: &Value) -> (i64, i64) {
    let strategy = &deployment["spec"]["strategy"];
    if text(strategy, &["type"]) != "RollingUpdate" {
        return (0, 0);
    }
    let wanted = number(deployment, &["spec", "replicas"]);
    let rolling = &strategy["rollingUpdate"];
    let surge = scaled(&rolling["maxSurge"], wanted, true);
    let unavailable = scaled(&rolling["maxUnavailable"], wanted, false);
    if surge == 0 && unavailable == 0 {
        return (1, 0);
    }
    (unavailable.min(wanted), surge)
}

/// Converts a number, or a percentage of `of`, which is rounded up or down.
pub(super) fn scaled(value: &Value, of: i64, up: bool) -> i64 {
    if let Some(number) = value.as_i64() {
        return number;
    }
    let percent = value.as_str().and_then(|text| text.strip_suffix('%'));
    let percent: i64 = percent
        .and_then(|text| text.parse().ok())
        .unwrap_or_default();
    let product = percent.saturating_mul(of);
    if up {
        (product + 99).div_euclid(100)
    } else {
        product.div_euclid(100)
    }
}

fn max_pods(deployment: &Value) -> i64 {
    let (_, surge) = bounds(deployment);
    number(deployment, &["spec", "replicas"]) + surge
}

/// Returns the annotations of a ReplicaSet with the size of its Deployment.
pub(super) fn size_annotations(deployment: &Value) -> Map<String, Value> {
    let wanted = number(deployment, &["spec", "replicas"]);
    let mut annotations = Map::new();
    for (key, value) in [
        ("deployment.kubernetes.io/desired-replicas", wanted),
        (
            "deployment.kubernetes.io/max-replicas",
            max_pods(deployment),
        ),
    ] {
        annotations.insert(key.to_owned(), json!(value.to_string()));
    }
    annotations
}

/// Returns the initial size of a new ReplicaSet.
pub(super) fn first_size(deployment: &Value, sets: &ReplicaSets) -> i64 {
    grown(deployment, sets.sum(&["spec", "replicas"]), 0)
}

/// Returns the maximum size of the new ReplicaSet when there are `there` Pods in total.
fn grown(deployment: &Value, there: i64, new: i64) -> i64 {
    let wanted = number(deployment, &["spec", "replicas"]);
    if text(deployment, &["spec", "strategy", "type"]) == "Recreate" {
        return if there > new { new } else { wanted };
    }
    let room = (max_pods(deployment) - there).max(0);
    new + room.min((wanted - new).max(0))
}

/// Performs the steps of a rollout that are possible now.
pub(super) fn step(tx: &mut Transaction<'_>, deployment: &Value, sets: &ReplicaSets, paused: bool) {
    let wanted = number(deployment, &["spec", "replicas"]);
    let active: Vec<&Arc<Value>> = sets.all().filter(|set| size(set) > 0).collect();
    let only = match active[..] {
        [] => sets.new.as_ref(),
        [only] => Some(only).filter(|only| paused || sets.new.as_ref() == Some(*only)),
        _ => None,
    };
    if let Some(only) = only {
        resize(tx, deployment, only, wanted);
        return;
    }
    if paused {
        return;
    }
    if text(deployment, &["spec", "strategy", "type"]) == "Recreate" {
        recreate(tx, deployment, sets);
    } else {
        roll(tx, deployment, sets);
    }
}

fn size(set: &Value) -> i64 {
    number(set, &["spec", "replicas"])
}

fn recreate(tx: &mut Transaction<'_>, deployment: &Value, sets: &ReplicaSets) {
    for set in &sets.old {
        resize(tx, deployment, set, 0);
    }
    let gone = sets.old.iter().all(|set| {
        size(set) == 0
            && number(set, &["status", "replicas"]) == 0
            && number(set, &["status", "terminatingReplicas"]) == 0
    });
    if let (true, Some(new)) = (gone, &sets.new) {
        let wanted = number(deployment, &["spec", "replicas"]);
        resize(tx, deployment, new, wanted);
    }
}

fn roll(tx: &mut Transaction<'_>, deployment: &Value, sets: &ReplicaSets) {
    let Some(new) = &sets.new else {
        return;
    };
    let wanted = number(deployment, &["spec", "replicas"]);
    let there = sets.sum(&["spec", "replicas"]);
    let target = if size(new) > wanted {
        wanted
    } else {
        grown(deployment, there, size(new))
    };
    if target != size(new) {
        resize(tx, deployment, new, target);
        return;
    }
    resize(tx, deployment, new, target);
    let (unavailable, _) = bounds(deployment);
    let least = wanted - unavailable;
    let missing = (size(new) - available(new)).max(0);
    let mut room = there - least - missing;
    // Unavailable Pods are removed first, because their removal does not reduce availability.
    let mut sizes: Vec<i64> = sets.old.iter().map(|set| size(set)).collect();
    for (set, size) in sets.old.iter().zip(&mut sizes) {
        let broken = (*size - available(set)).max(0).min(room.max(0));
        *size -= broken;
        room -= broken;
    }
    let mut spare = (sets.sum(&["status", "availableReplicas"]) - least)
        .max(0)
        .min(room.max(0));
    for size in &mut sizes {
        let taken = spare.min(*size);
        *size -= taken;
        spare -= taken;
    }
    for (set, size) in sets.old.iter().zip(sizes) {
        resize(tx, deployment, set, size);
    }
}

fn available(set: &Value) -> i64 {
    number(set, &["status", "availableReplicas"])
}

fn resize(tx: &mut Transaction<'_>, deployment: &Value, set: &Arc<Value>, size: i64) {
    let mut set = (**set).clone();
    set["spec"]["replicas"] = json!(size);
    if let Value::Object(annotations) = &mut set["metadata"]["annotations"] {
        annotations.extend(size_annotations(deployment));
    }
    update(tx, SETS, set);
}
