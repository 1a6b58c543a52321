//! Converts objects between versions whose fields differ.
//!
//! Two groups serve Events, and two versions serve HorizontalPodAutoscalers.

use serde_json::{Map, Value, json};

use crate::resource::Resource;

/// The fields of an Event in the core group, and their names in `events.k8s.io`.
const EVENT_FIELDS: [(&str, &str); 7] = [
    ("involvedObject", "regarding"),
    ("message", "note"),
    ("reportingComponent", "reportingController"),
    ("source", "deprecatedSource"),
    ("firstTimestamp", "deprecatedFirstTimestamp"),
    ("lastTimestamp", "deprecatedLastTimestamp"),
    ("count", "deprecatedCount"),
];

/// The annotations in which version 1 of a HorizontalPodAutoscaler keeps values that it has no fields for.
const METRICS: &str = "autoscaling.alpha.kubernetes.io/metrics";
const BEHAVIOR: &str = "autoscaling.alpha.kubernetes.io/behavior";

/// Converts a stored object to a version of a resource.
pub(super) fn from_storage(resource: &Resource, version: &str, object: &mut Value) {
    match (&**resource.id(), version) {
        ("events.events.k8s.io", _) => rename(object, EVENT_FIELDS.iter().copied()),
        ("horizontalpodautoscalers.autoscaling", "v1") => to_v1(object),
        _ => {}
    }
}

/// Converts an object of any version of a resource to the stored form.
pub(super) fn to_storage(resource: &Resource, object: &mut Value) {
    let is_v1 = object["apiVersion"] == "autoscaling/v1";
    match &**resource.id() {
        "events.events.k8s.io" => {
            rename(object, EVENT_FIELDS.iter().map(|(core, new)| (*new, *core)));
        }
        "horizontalpodautoscalers.autoscaling" if is_v1 => to_v2(object),
        _ => {}
    }
}

fn rename<'a>(object: &mut Value, names: impl Iterator<Item = (&'a str, &'a str)>) {
    let Some(map) = object.as_object_mut() else {
        return;
    };
    for (from, to) in names {
        if let Some(value) = map.remove(from) {
            map.insert(to.to_owned(), value);
        }
    }
}

fn members<'a>(object: &'a mut Value, field: &str) -> Option<&'a mut Map<String, Value>> {
    object.get_mut(field)?.as_object_mut()
}

/// Returns whether version 1 has a field for the metric.
fn is_cpu_utilization(metric: &Value) -> bool {
    metric["type"] == "Resource"
        && metric["resource"]["name"] == "cpu"
        && metric["resource"]["target"]["type"] == "Utilization"
}

fn to_v1(object: &mut Value) {
    let Some(spec) = members(object, "spec") else {
        return;
    };
    let mut metrics = match spec.remove("metrics") {
        Some(Value::Array(metrics)) => metrics,
        _ => Vec::new(),
    };
    let behavior = spec.remove("behavior");
    if let Some(at) = metrics.iter().position(is_cpu_utilization) {
        let cpu = metrics.remove(at);
        let target = cpu["resource"]["target"]["averageUtilization"].clone();
        spec.insert("targetCPUUtilizationPercentage".to_owned(), target);
    }
    if !metrics.is_empty() {
        annotate(object, METRICS, &Value::Array(metrics));
    }
    if let Some(behavior) = behavior {
        annotate(object, BEHAVIOR, &behavior);
    }
    if let Some(status) = members(object, "status") {
        status.remove("conditions");
        if let Some(Value::Array(metrics)) = status.remove("currentMetrics") {
            let cpu = metrics.iter().find(|one| one["resource"]["name"] == "cpu");
            let current = cpu.map(|one| one["resource"]["current"]["averageUtilization"].clone());
            if let Some(current) = current.filter(Value::is_number) {
                status.insert("currentCPUUtilizationPercentage".to_owned(), current);
            }
        }
    }
}

fn to_v2(object: &mut Value) {
    let kept = take_annotation(object, METRICS);
    let behavior = take_annotation(object, BEHAVIOR);
    let Some(spec) = members(object, "spec") else {
        return;
    };
    let mut metrics = match kept {
        Some(Value::Array(metrics)) => metrics,
        _ => Vec::new(),
    };
    if let Some(target) = spec.remove("targetCPUUtilizationPercentage") {
        let target = json!({"type": "Utilization", "averageUtilization": target});
        let cpu = json!({"type": "Resource", "resource": {"name": "cpu", "target": target}});
        metrics.insert(0, cpu);
    }
    if !metrics.is_empty() {
        spec.insert("metrics".to_owned(), metrics.into());
    }
    if let Some(behavior) = behavior {
        spec.insert("behavior".to_owned(), behavior);
    }
    if let Some(status) = members(object, "status") {
        status.remove("currentCPUUtilizationPercentage");
    }
}

fn annotate(object: &mut Value, key: &str, value: &Value) {
    let metadata = &mut object["metadata"];
    if !metadata["annotations"].is_object() {
        metadata["annotations"] = Value::Object(Map::new());
    }
    metadata["annotations"][key] = value.to_string().into();
}

fn take_annotation(object: &mut Value, key: &str) -> Option<Value> {
    let metadata = members(object, "metadata")?;
    let annotations = metadata.get_mut("annotations")?.as_object_mut()?;
    let value = annotations.remove(key)?;
    if annotations.is_empty() {
        metadata.remove("annotations");
    }
    serde_json::from_str(value.as_str()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_autoscaler_survives_version_one() {
        let stored = json!({
            "apiVersion": "autoscaling/v2",
            "metadata": {"name": "a"},
            "spec": {
                "maxReplicas": 3,
                "metrics": [
                    {"type": "Resource", "resource": {"name": "cpu", "target":
                        {"type": "Utilization", "averageUtilization": 80}}},
                    {"type": "Resource", "resource": {"name": "memory", "target":
                        {"type": "Utilization", "averageUtilization": 70}}},
                ],
            },
        });
        let mut object = stored.clone();
        to_v1(&mut object);
        assert_eq!(object["spec"]["targetCPUUtilizationPercentage"], 80);
        to_v2(&mut object);
        assert_eq!(object, stored);
    }
}
