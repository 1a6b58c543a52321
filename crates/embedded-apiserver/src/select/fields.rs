//! The fields of objects that a field selector can name.
//!
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/field-selectors/#list-of-supported-fields>

use std::borrow::Cow;

use serde_json::Value;

use crate::resource::{Resource, Version};

/// The field labels of resources that support more than name and namespace.
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

/// Returns an error with the message of the server if a selector cannot use the path.
pub(super) fn check(resource: &Resource, version: &Version, path: &str) -> Result<(), String> {
    if path == "metadata.name" || path == "metadata.namespace" && resource.namespaced {
        return Ok(());
    }
    if let Some(custom) = &version.custom {
        let mut names = custom.version.selectable_names();
        let known = names.any(|name| name == path).then_some(());
        return known.ok_or_else(|| format!("field label not supported: {path}"));
    }
    if path == "metadata.namespace" {
        return Ok(());
    }
    let own = FIELDS.iter().find(|(id, _)| *id == &**resource.id());
    match own {
        Some((_, paths)) if paths.contains(&path) => Ok(()),
        Some(_) if &*resource.kind == "Job" => {
            Err(format!("field label {path:?} not supported for Job"))
        }
        Some(_) => Err(format!("field label not supported: {path}")),
        None => Err(format!(
            "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
        )),
    }
}

/// Returns the value of a field as text, or an empty text if it is missing.
pub(super) fn value_of<'a>(resource: &Resource, object: &'a Value, path: &str) -> Cow<'a, str> {
    if let Some(custom) = &resource.storage_version().custom {
        let mut fields = custom.version.selectable_fields(object).into_iter();
        let found = fields.find(|(name, _)| name == path);
        return found.map(|(_, value)| value).unwrap_or_default().into();
    }
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
        ("replicationcontrollers" | "jobs.batch", None) => "0".into(),
        _ => match path {
            "spec.hostNetwork" => "false".into(),
            _ => "".into(),
        },
    }
}

/// Converts a path of an Event to the form of the core group, in which Events are stored.
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
