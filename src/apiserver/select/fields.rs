//! The fields of objects that a field selector can name.
//!
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/#list-of-supported-fields>

use std::borrow::Cow;

use serde_json::Value;

use crate::apiserver::resource::Resource;

/// Resources with field labels of their own, beside name and namespace.
const FIELDS: &[(&str, &[&str])] = &[
    (
        "pods",
        &[
            "spec.nodeName",
            "spec.restartPolicy",
            "spec.schedulerName",
            "spec.serviceAccountName",
            "spec.hostNetwork",
            "status.phase",
            "status.podIP",
            "status.podIPs",
            "status.nominatedNodeName",
        ],
    ),
    (
        "events",
        &[
            "involvedObject.kind",
            "involvedObject.namespace",
            "involvedObject.name",
            "involvedObject.uid",
            "involvedObject.apiVersion",
            "involvedObject.resourceVersion",
            "involvedObject.fieldPath",
            "reason",
            "reportingComponent",
            "source",
            "type",
        ],
    ),
    (
        "events.events.k8s.io",
        &[
            "regarding.kind",
            "regarding.namespace",
            "regarding.name",
            "regarding.uid",
            "regarding.apiVersion",
            "regarding.resourceVersion",
            "regarding.fieldPath",
            "reason",
            "reportingController",
            "type",
        ],
    ),
    ("secrets", &["type"]),
    ("namespaces", &["status.phase"]),
    ("nodes", &["spec.unschedulable"]),
    ("services", &["spec.clusterIP", "spec.type"]),
    ("replicationcontrollers", &["status.replicas"]),
    ("replicasets.apps", &["status.replicas"]),
    ("jobs.batch", &["status.successful"]),
    (
        "certificatesigningrequests.certificates.k8s.io",
        &["spec.signerName"],
    ),
    (
        "resourceslices.resource.k8s.io",
        &["spec.nodeName", "spec.driver"],
    ),
];

/// Whether the resource has field labels of its own.
pub(super) fn has_own(resource: &Resource) -> bool {
    FIELDS.iter().any(|(id, _)| *id == &**resource.id())
}

/// Whether a selector may name the path.
pub(super) fn is_supported(resource: &Resource, path: &str) -> bool {
    let always = path == "metadata.name"
        || (path == "metadata.namespace" && (resource.namespaced || !resource.is_custom()));
    let mut own = FIELDS.iter().filter(|(id, _)| *id == &**resource.id());
    always || own.any(|(_, paths)| paths.contains(&path))
}

/// The field's value as text; empty where it is not there.
pub(super) fn value_of<'a>(resource: &Resource, object: &'a Value, path: &str) -> Cow<'a, str> {
    let path = match (&**resource.id(), path) {
        ("events" | "events.events.k8s.io", path) => stored_event_path(path),
        ("jobs.batch", "status.successful") => "status.succeeded",
        (_, path) => path,
    };
    let value = path
        .split('.')
        .try_fold(object, |value, name| value.get(name));
    match (&**resource.id(), value) {
        (_, Some(Value::String(text))) => text.as_str().into(),
        (_, Some(Value::Bool(flag))) => flag.to_string().into(),
        (_, Some(Value::Number(number))) => number.to_string().into(),
        ("nodes", None) => "false".into(),
        ("replicationcontrollers" | "replicasets.apps" | "jobs.batch", None) => "0".into(),
        _ => match path {
            "spec.hostNetwork" => "false".into(),
            _ => "".into(),
        },
    }
}

/// Events are kept in the core group's form.
fn stored_event_path(path: &str) -> &str {
    match path {
        "regarding.kind" => "involvedObject.kind",
        "regarding.namespace" => "involvedObject.namespace",
        "regarding.name" => "involvedObject.name",
        "regarding.uid" => "involvedObject.uid",
        "regarding.apiVersion" => "involvedObject.apiVersion",
        "regarding.resourceVersion" => "involvedObject.resourceVersion",
        "regarding.fieldPath" => "involvedObject.fieldPath",
        "reportingController" => "reportingComponent",
        "source" => "source.component",
        other => other,
    }
}
