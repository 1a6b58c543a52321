//! Prepares built-in objects for validation, as the strategies of the real server do.
//!
//! Resets the status, which users cannot set, counts generations, and sets the fields that controllers
//! require. Also performs the default admission plugins that need only the object itself.

mod pod;
mod service;

use serde_json::{Map, Value, json};

use super::{defaults, path};

/// The kinds whose status users cannot write.
const WITH_STATUS: [&str; 19] = [
    "CertificateSigningRequest",
    "CronJob",
    "DaemonSet",
    "Deployment",
    "FlowSchema",
    "HorizontalPodAutoscaler",
    "Ingress",
    "Job",
    "Namespace",
    "PersistentVolume",
    "PersistentVolumeClaim",
    "Pod",
    "PodDisruptionBudget",
    "PriorityLevelConfiguration",
    "ReplicaSet",
    "ReplicationController",
    "ResourceQuota",
    "Service",
    "StatefulSet",
];

/// The kinds whose generation is counted, and the parts of an object whose changes increment it.
const COUNTED: [(&str, &[&str]); 23] = [
    ("CronJob", &["spec"]),
    ("DaemonSet", &["spec"]),
    ("Deployment", &["spec"]),
    ("EndpointSlice", &["addressType", "endpoints", "ports"]),
    ("FlowSchema", &["spec"]),
    ("Ingress", &["spec"]),
    ("IngressClass", &["spec"]),
    ("Job", &["spec"]),
    ("MutatingAdmissionPolicy", &["spec"]),
    ("MutatingAdmissionPolicyBinding", &["spec"]),
    ("MutatingWebhookConfiguration", &["webhooks"]),
    ("NetworkPolicy", &["spec"]),
    ("Pod", &["spec"]),
    ("PodDisruptionBudget", &["spec"]),
    ("PodTemplate", &["template"]),
    ("PriorityClass", &[]),
    ("PriorityLevelConfiguration", &["spec"]),
    ("ReplicaSet", &["spec"]),
    ("ReplicationController", &["spec"]),
    ("StatefulSet", &["spec"]),
    ("ValidatingAdmissionPolicy", &["spec"]),
    ("ValidatingAdmissionPolicyBinding", &["spec"]),
    ("ValidatingWebhookConfiguration", &["webhooks"]),
];

/// The label by which a Job selects its Pods.
const JOB_UID: &str = "batch.kubernetes.io/controller-uid";

/// Prepares a new object. `now` is an RFC 3339 time with whole seconds.
///
/// The object already has name, namespace and uid. Sets [`defaults`](fn@defaults) before and after the preparation,
/// because some defaults depend on prepared fields, such as the labels of a Job. The real server sets them
/// again when it reads the object.
pub(crate) fn prepare_for_create(
    group: &str,
    version: &str,
    kind: &str,
    object: &mut Value,
    now: &str,
) {
    defaults(group, version, kind, object);
    if WITH_STATUS.contains(&kind) {
        object["status"] = json!({});
    }
    if counted(kind).is_some() {
        object["metadata"]["generation"] = json!(1);
    }
    match kind {
        "Pod" => pod::prepare(object),
        "Job" => job(object),
        "DaemonSet" => annotate(object, "deprecated.daemonset.template.generation", "1"),
        "Namespace" => namespace(object),
        "PersistentVolumeClaim" => {
            object["status"]["phase"] = json!("Pending");
            protect(object, "kubernetes.io/pvc-protection");
        }
        "PersistentVolume" => {
            object["status"] = json!({"phase": "Pending", "lastPhaseTransitionTime": now});
            protect(object, "kubernetes.io/pv-protection");
        }
        "Node" => taint(object),
        _ => {}
    }
    defaults(group, version, kind, object);
}

/// Prepares an object that replaces `old`, and sets [`defaults`](fn@defaults).
pub(crate) fn prepare_for_update(
    group: &str,
    version: &str,
    kind: &str,
    object: &mut Value,
    old: &Value,
) {
    if WITH_STATUS.contains(&kind) || kind == "Node" {
        carry(object, old, "status");
    }
    match kind {
        "Pod" => pod::tolerate(&mut object["spec"]),
        "Service" => service::prepare_for_update(object, old),
        "Namespace" => {
            let finalizers = old["spec"]["finalizers"].clone();
            object["spec"]["finalizers"] = finalizers;
        }
        _ => {}
    }
    defaults(group, version, kind, object);
    if let Some(parts) = counted(kind) {
        count(kind, object, old, parts);
    }
}

fn counted(kind: &str) -> Option<&'static [&'static str]> {
    let found = COUNTED.iter().find(|(name, _)| *name == kind);
    found.map(|(_, parts)| *parts)
}

/// Sets the generation: the old one, or the next one if one of the parts changed.
fn count(kind: &str, object: &mut Value, old: &Value, parts: &[&str]) {
    let differs = |part: &&str| object.get(*part) != old.get(*part);
    let mut changed = parts.iter().any(differs);
    if kind == "Deployment" {
        changed |= object["metadata"]["annotations"] != old["metadata"]["annotations"];
    }
    let generation = old["metadata"]["generation"].as_i64().unwrap_or_default();
    object["metadata"]["generation"] = json!(generation + i64::from(changed));
    if kind == "DaemonSet" && object["spec"]["template"] != old["spec"]["template"] {
        let key = "deprecated.daemonset.template.generation";
        let before = path::text(old, &["metadata", "annotations", key]);
        let next = before.parse::<i64>().unwrap_or_default() + 1;
        annotate(object, key, &next.to_string());
    }
}

/// Copies a part from another object, or removes it if the other object has none.
fn carry(object: &mut Value, from: &Value, part: &str) {
    let Some(map) = object.as_object_mut() else {
        return;
    };
    match from.get(part) {
        Some(value) => map.insert(part.to_owned(), value.clone()),
        None => map.remove(part),
    };
}

fn annotate(object: &mut Value, key: &str, value: &str) {
    object["metadata"]["annotations"][key] = json!(value);
}

fn protect(object: &mut Value, finalizer: &str) {
    let finalizers = &mut object["metadata"]["finalizers"];
    if finalizers.is_null() {
        *finalizers = json!([]);
    }
    if let Value::Array(list) = finalizers
        && !list.iter().any(|one| one == finalizer)
    {
        list.push(json!(finalizer));
    }
}

fn namespace(object: &mut Value) {
    object["status"] = json!({"phase": "Active"});
    let finalizers = &mut object["spec"]["finalizers"];
    match finalizers {
        Value::Array(list) if list.iter().any(|one| one == "kubernetes") => {}
        Value::Array(list) => list.push(json!("kubernetes")),
        other => *other = json!(["kubernetes"]),
    }
}

/// Adds the taint that keeps Pods away from a new Node until it is ready.
fn taint(object: &mut Value) {
    let taint = json!({"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"});
    match &mut object["spec"]["taints"] {
        Value::Array(taints) if taints.contains(&taint) => {}
        Value::Array(taints) => taints.push(taint),
        other => *other = json!([taint]),
    }
}

/// Makes a Job select its Pods by its uid, unless the Job has a manual selector.
fn job(object: &mut Value) {
    let metadata = &object["metadata"];
    let (name, uid) = (metadata["name"].clone(), metadata["uid"].clone());
    let template = &object["spec"]["template"]["metadata"]["labels"];
    let labels_are_its = metadata["labels"].is_null() || metadata["labels"] == *template;
    if object["spec"]["manualSelector"] == json!(true) {
        return;
    }
    let generated = [
        ("batch.kubernetes.io/job-name", &name),
        ("job-name", &name),
        (JOB_UID, &uid),
        ("controller-uid", &uid),
    ];
    let labels = &mut object["spec"]["template"]["metadata"]["labels"];
    for (key, value) in generated {
        set_absent(labels, key, value);
    }
    let labels = labels.clone();
    set_absent(
        &mut object["spec"]["selector"]["matchLabels"],
        JOB_UID,
        &uid,
    );
    if labels_are_its {
        object["metadata"]["labels"] = labels;
    }
}

fn set_absent(labels: &mut Value, key: &str, value: &Value) {
    if labels.is_null() {
        *labels = Value::Object(Map::new());
    }
    if labels.get(key).is_none() {
        labels[key] = value.clone();
    }
}
