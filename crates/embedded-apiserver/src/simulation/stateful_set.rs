//! StatefulSets: numbered Pods that start in order, each with its own claims.

use std::sync::Arc;

use serde_json::{Value, json};

use super::objects::{
    controlled, count, create, delete, is_terminating, labels, name, namespace, number,
    owner_reference, pod_of, write_status,
};
use super::pod::{available_at, is_finished, is_ready};
use super::replica_set::PodCounts;
use super::{Simulation, revision};
use crate::builtin::path::{at, items, text};
use crate::registry::Transaction;

const RESOURCE: &str = "statefulsets.apps";
const HASH: &str = "controller-revision-hash";

/// The current revision and the update revision of a StatefulSet.
struct Revisions {
    current: String,
    update: String,
}

pub(super) fn sync(sim: &mut Simulation, tx: &mut Transaction<'_>, set: &Value) {
    let Some(update) = revision::ensure(tx, set, "controller.kubernetes.io/hash") else {
        return;
    };
    let current = text(set, &["status", "currentRevision"]);
    let current = if current.is_empty() {
        &*update.name
    } else {
        current
    };
    let revisions = Revisions {
        current: current.to_owned(),
        update: update.name.clone(),
    };
    if !is_terminating(set) {
        step(tx, set, &revisions);
    }
    report(sim, tx, set, &revisions);
}

fn ordinal(set: &Value, pod: &Value) -> Option<i64> {
    let rest = name(pod).strip_prefix(name(set))?.strip_prefix('-')?;
    rest.parse().ok()
}

/// Returns whether a Pod is available, so that the next Pod can be handled.
fn is_settled(tx: &Transaction<'_>, set: &Value, pod: &Value) -> bool {
    let seconds = number(set, &["spec", "minReadySeconds"]);
    let available = available_at(pod, seconds).is_some_and(|at| at <= tx.now());
    !is_terminating(pod) && is_ready(pod) && available
}

/// Takes the next step. An ordered set creates or deletes one Pod at a time.
fn step(tx: &mut Transaction<'_>, set: &Value, revisions: &Revisions) {
    let ordered = text(set, &["spec", "podManagementPolicy"]) != "Parallel";
    let first = number(set, &["spec", "ordinals", "start"]);
    let wanted = first..first + number(set, &["spec", "replicas"]);
    for index in wanted.clone() {
        match pod(tx, set, index) {
            None => {
                make(tx, set, index, revisions);
                if ordered {
                    return;
                }
            }
            Some(pod) if is_finished(&pod) && !is_terminating(&pod) => {
                delete(tx, "pods", &pod);
                if ordered {
                    return;
                }
            }
            Some(pod) if ordered && !is_settled(tx, set, &pod) => return,
            Some(_) => {}
        }
    }
    let mut condemned: Vec<_> = controlled(tx, "pods", set);
    condemned.retain(|pod| ordinal(set, pod).is_none_or(|index| !wanted.contains(&index)));
    condemned.sort_by_key(|pod| std::cmp::Reverse(ordinal(set, pod)));
    for pod in condemned {
        if !is_terminating(&pod) {
            delete(tx, "pods", &pod);
        }
        if ordered {
            return;
        }
    }
    replace(tx, set, revisions, wanted);
}

/// Replaces the Pods of an old template, beginning with the last one.
fn replace(
    tx: &mut Transaction<'_>,
    set: &Value,
    revisions: &Revisions,
    wanted: std::ops::Range<i64>,
) {
    let strategy = &set["spec"]["updateStrategy"];
    if text(strategy, &["type"]) == "OnDelete" {
        return;
    }
    let partition = number(strategy, &["rollingUpdate", "partition"]);
    for index in wanted.rev().take_while(|index| *index >= partition) {
        let Some(pod) = pod(tx, set, index) else {
            return;
        };
        if text(&pod, &["metadata", "labels", HASH]) != revisions.update {
            if !is_terminating(&pod) {
                delete(tx, "pods", &pod);
            }
            return;
        }
        if !is_settled(tx, set, &pod) {
            return;
        }
    }
}

fn pod(tx: &Transaction<'_>, set: &Value, index: i64) -> Option<Arc<Value>> {
    tx.get("pods", namespace(set), &format!("{}-{index}", name(set)))
}

fn make(tx: &mut Transaction<'_>, set: &Value, index: i64, revisions: &Revisions) {
    let own = format!("{}-{index}", name(set));
    let mut pod = pod_of(&set["spec"]["template"], set);
    // The real controller sets both the name and `generateName`.
    pod["metadata"]["generateName"] = json!(format!("{}-", name(set)));
    pod["metadata"]["name"] = json!(own);
    let strategy = &set["spec"]["updateStrategy"];
    let partition = number(strategy, &["rollingUpdate", "partition"]);
    let old = index < partition || text(strategy, &["type"]) == "OnDelete";
    let revision = if old {
        &revisions.current
    } else {
        &revisions.update
    };
    for (label, value) in [
        ("statefulset.kubernetes.io/pod-name", own.as_str()),
        ("apps.kubernetes.io/pod-index", &index.to_string()),
        (HASH, revision),
    ] {
        pod["metadata"]["labels"][label] = json!(value);
    }
    pod["spec"]["hostname"] = json!(own);
    if !set["spec"]["serviceName"].is_null() {
        pod["spec"]["subdomain"] = set["spec"]["serviceName"].clone();
    }
    let mut volumes = items(&pod["spec"]["volumes"]).to_vec();
    for template in items(&set["spec"]["volumeClaimTemplates"]) {
        let claim = format!("{}-{own}", name(template));
        volumes.retain(|volume| volume["name"] != template["metadata"]["name"]);
        volumes.push(json!({
            "name": name(template),
            "persistentVolumeClaim": {"claimName": claim},
        }));
        ensure_claim(tx, set, template, &claim);
    }
    if !volumes.is_empty() {
        pod["spec"]["volumes"] = Value::Array(volumes);
    }
    let _refused = create(tx, "pods", pod);
}

fn ensure_claim(tx: &mut Transaction<'_>, set: &Value, template: &Value, claim: &str) {
    if tx
        .get("persistentvolumeclaims", namespace(set), claim)
        .is_some()
    {
        return;
    }
    let mut claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": claim, "namespace": namespace(set)},
        "spec": template["spec"],
    });
    let annotations = &template["metadata"]["annotations"];
    if !annotations.is_null() {
        claim["metadata"]["annotations"] = annotations.clone();
    }
    for source in [labels(template), &set["spec"]["selector"]["matchLabels"]] {
        for (key, value) in source.as_object().into_iter().flatten() {
            claim["metadata"]["labels"][key] = value.clone();
        }
    }
    let policy = [
        "spec",
        "persistentVolumeClaimRetentionPolicy",
        "whenDeleted",
    ];
    if text(set, &policy) == "Delete" {
        claim["metadata"]["ownerReferences"] = json!([owner_reference(set)]);
    }
    let _refused = create(tx, "persistentvolumeclaims", claim);
}

fn report(sim: &mut Simulation, tx: &mut Transaction<'_>, set: &Value, revisions: &Revisions) {
    let pods = controlled(tx, "pods", set);
    let tally = PodCounts::count(sim, tx, RESOURCE, set, &pods);
    let of = |revision: &str| {
        let is = |pod: &&Arc<Value>| {
            text(pod, &["metadata", "labels", HASH]) == revision && !is_terminating(pod)
        };
        count(pods.iter().filter(is).count())
    };
    let wanted = number(set, &["spec", "replicas"]);
    let (mut current, mut updated) = (of(&revisions.current), of(&revisions.update));
    let mut revision = &revisions.current;
    let partition = number(
        set,
        &["spec", "updateStrategy", "rollingUpdate", "partition"],
    );
    let on_delete = text(set, &["spec", "updateStrategy", "type"]) == "OnDelete";
    let done = !on_delete && updated == wanted && tally.ready == wanted && partition <= 0;
    if done {
        revision = &revisions.update;
        current = updated;
    }
    if revisions.current == revisions.update {
        updated = current;
    }
    let mut status = json!({
        "observedGeneration": set["metadata"]["generation"],
        "replicas": count(pods.len()),
        "availableReplicas": tally.available,
        "currentRevision": revision,
        "updateRevision": revisions.update,
        "collisionCount": at(set, &["status", "collisionCount"]).as_i64().unwrap_or_default(),
    });
    for (field, value) in [
        ("readyReplicas", tally.ready),
        ("currentReplicas", current),
        ("updatedReplicas", updated),
    ] {
        if value > 0 {
            status[field] = json!(value);
        }
    }
    write_status(tx, RESOURCE, set, status);
    revision::clean(tx, set, &[&revisions.current, &revisions.update]);
}
