//! Defaults of small kinds.

use serde_json::{Map, Value, json};

use super::{absent, text, within};

const RBAC: &str = "rbac.authorization.k8s.io";

/// Sets the label with the name of a Namespace.
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

/// Sets the defaults of a container's limits: the limit defaults to the maximum, and the request to the limit
/// or else to the minimum.
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

/// Sets the selector and the labels of a `ReplicationController` to the labels of its template.
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

/// Sets the policy types: `Ingress`, and also `Egress` if the policy has egress rules.
pub(super) fn network_policy(map: &mut Map<String, Value>) {
    let types = if map.contains_key("egress") {
        json!(["Ingress", "Egress"])
    } else {
        json!(["Ingress"])
    };
    absent(map, "policyTypes", || types);
}

/// Sets the API group of a role reference.
pub(super) fn role_ref(map: &mut Map<String, Value>) {
    if text(map, "apiGroup").is_empty() {
        map.insert("apiGroup".to_owned(), json!(RBAC));
    }
}

/// Sets the API group of a subject: that of RBAC for users and groups. Service accounts belong to the core
/// group.
pub(super) fn subject(map: &mut Map<String, Value>) {
    if matches!(text(map, "kind"), "User" | "Group") {
        absent(map, "apiGroup", || json!(RBAC));
    }
}
