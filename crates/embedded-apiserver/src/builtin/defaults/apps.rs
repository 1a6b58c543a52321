//! Defaults of workloads.

use serde_json::{Map, Value, json};

use super::{absent, text, within};

/// Sets the default update strategy of a Deployment.
pub(super) fn deployment_strategy(map: &mut Map<String, Value>) {
    rolling(
        map,
        &[("maxUnavailable", json!("25%")), ("maxSurge", json!("25%"))],
    );
}

/// Sets the default update strategy of a DaemonSet.
pub(super) fn daemon_set_strategy(map: &mut Map<String, Value>) {
    rolling(map, &[("maxUnavailable", json!(1)), ("maxSurge", json!(0))]);
}

/// Sets the default update strategy of a StatefulSet.
pub(super) fn stateful_set_strategy(map: &mut Map<String, Value>) {
    let named = map.contains_key("type");
    if named && map.get("rollingUpdate").is_none_or(Value::is_null) {
        return;
    }
    rolling(map, &[("partition", json!(0))]);
}

fn rolling(map: &mut Map<String, Value>, defaults: &[(&str, Value)]) {
    absent(map, "type", || json!("RollingUpdate"));
    if text(map, "type") != "RollingUpdate" {
        return;
    }
    if let Some(rolling) = within(map, "rollingUpdate") {
        for (field, value) in defaults {
            absent(rolling, field, || value.clone());
        }
    }
}

/// Sets the defaults of a Job: one completion unless completions or parallelism are set, and the labels of
/// its template.
pub(super) fn job(map: &mut Map<String, Value>) {
    let Some(spec) = within(map, "spec") else {
        return;
    };
    if !spec.contains_key("completions") && !spec.contains_key("parallelism") {
        spec.insert("completions".to_owned(), json!(1));
    }
    absent(spec, "parallelism", || json!(1));
    let per_index = spec.contains_key("backoffLimitPerIndex");
    absent(spec, "backoffLimit", || {
        json!(if per_index { i32::MAX } else { 6 })
    });
    absent(spec, "completionMode", || json!("NonIndexed"));
    absent(spec, "suspend", || json!(false));
    let policy = spec.contains_key("podFailurePolicy");
    absent(spec, "podReplacementPolicy", || {
        json!(if policy {
            "Failed"
        } else {
            "TerminatingOrFailed"
        })
    });
    absent(spec, "manualSelector", || json!(false));
    let labels = spec
        .get("template")
        .map(|template| &template["metadata"]["labels"]);
    let labels = labels.filter(|labels| labels.is_object()).cloned();
    if let (Some(labels), Some(metadata)) = (labels, within(map, "metadata")) {
        absent(metadata, "labels", || labels);
    }
}

/// Sets the apiVersion and kind of claim templates, which are PersistentVolumeClaims.
pub(super) fn claim_templates(map: &mut Map<String, Value>) {
    if let Some(Value::Array(templates)) = map.get_mut("volumeClaimTemplates") {
        for template in templates.iter_mut().filter_map(Value::as_object_mut) {
            absent(template, "apiVersion", || json!("v1"));
            absent(template, "kind", || json!("PersistentVolumeClaim"));
        }
    }
}
