//! Defaults of smaller kinds.

use serde_json::{Map, Value, json};

use super::{absent, text, within};

const RBAC: &str = "rbac.authorization.k8s.io";

/// A Namespace carries its name as a label.
pub(super) fn namespace(map: &mut Map<String, Value>) {
    let Some(metadata) = within(map, "metadata") else {
        return;
    };
    let name = text(metadata, "name").to_owned();
    if let (false, Some(labels)) = (name.is_empty(), within(metadata, "labels")) {
        labels.insert("kubernetes.io/metadata.name".to_owned(), json!(name));
    }
}

/// Sets the allocatable resources of a node to its capacity.
pub(super) fn node_status(map: &mut Map<String, Value>) {
    if let Some(capacity) = map.get("capacity").cloned() {
        absent(map, "allocatable", || capacity);
    }
}

/// A container's limit defaults to the maximum, its request to the limit, then to the minimum.
pub(super) fn limit_range_item(map: &mut Map<String, Value>) {
    if text(map, "type") != "Container" {
        return;
    }
    for (to, from) in [
        ("default", "max"),
        ("defaultRequest", "default"),
        ("defaultRequest", "min"),
    ] {
        let Some(Value::Object(from)) = map.get(from).cloned() else {
            continue;
        };
        if let Some(to) = within(map, to) {
            for (name, amount) in from {
                absent(to, &name, || amount);
            }
        }
    }
}

/// Selector and labels are those of the template.
pub(super) fn replication_controller(map: &mut Map<String, Value>) {
    let labels = map
        .get("spec")
        .map(|spec| &spec["template"]["metadata"]["labels"]);
    let Some(labels) = labels.filter(|labels| labels.is_object()).cloned() else {
        return;
    };
    if let Some(spec) = within(map, "spec") {
        absent(spec, "selector", || labels.clone());
    }
    if let Some(metadata) = within(map, "metadata") {
        absent(metadata, "labels", || labels);
    }
}

/// A policy is about what comes in, and about what goes out if it says something of that.
pub(super) fn network_policy(map: &mut Map<String, Value>) {
    let types = if map.contains_key("egress") {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    absent(map, "policyTypes", || types);
}

/// A role is of the RBAC group.
pub(super) fn role_ref(map: &mut Map<String, Value>) {
    if text(map, "apiGroup").is_empty() {
        map.insert("apiGroup".to_owned(), json!(RBAC));
    }
}

/// Users and groups are of the RBAC group, service accounts of the core group.
pub(super) fn subject(map: &mut Map<String, Value>) {
    if matches!(text(map, "kind"), "User" | "Group") {
        absent(map, "apiGroup", || json!(RBAC));
    }
}
