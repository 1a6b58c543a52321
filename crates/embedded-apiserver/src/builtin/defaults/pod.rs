//! Defaults of Pods, volumes and containers.

use serde_json::{Map, Value, json};

use super::{absent, text, within};

/// Sets the defaults of a Pod that a Pod template does not have: requests default to limits, and host ports
/// to container ports.
pub(super) fn pod(map: &mut Map<String, Value>) {
    let Some(spec) = within(map, "spec") else {
        return;
    };
    absent(spec, "enableServiceLinks", || json!(true));
    let host_network = spec.get("hostNetwork") == Some(&json!(true));
    for list in ["containers", "initContainers"] {
        let Some(Value::Array(containers)) = spec.get_mut(list) else {
            continue;
        };
        for container in containers.iter_mut().filter_map(Value::as_object_mut) {
            requests(container);
            if host_network {
                host_ports(container);
            }
        }
    }
}

fn requests(container: &mut Map<String, Value>) {
    let Some(Value::Object(resources)) = container.get_mut("resources") else {
        return;
    };
    let Some(Value::Object(limits)) = resources.get("limits").cloned() else {
        return;
    };
    if let Some(requests) = within(resources, "requests") {
        for (name, limit) in limits {
            absent(requests, &name, || limit);
        }
    }
}

fn host_ports(container: &mut Map<String, Value>) {
    let Some(Value::Array(ports)) = container.get_mut("ports") else {
        return;
    };
    for port in ports.iter_mut().filter_map(Value::as_object_mut) {
        if let Some(number) = port.get("containerPort").cloned() {
            absent(port, "hostPort", || number);
        }
    }
}

/// Copies the name of the ServiceAccount between its two fields. `serviceAccount` is the deprecated one.
pub(super) fn service_account(map: &mut Map<String, Value>) {
    for (from, to) in [
        ("serviceAccount", "serviceAccountName"),
        ("serviceAccountName", "serviceAccount"),
    ] {
        if let Some(name) = map.get(from).cloned() {
            absent(map, to, || name);
        }
    }
}

/// Makes a volume without a source an empty directory.
pub(super) fn volume(map: &mut Map<String, Value>) {
    if map
        .iter()
        .all(|(key, value)| key == "name" || value.is_null())
    {
        map.insert("emptyDir".to_owned(), json!({}));
    }
}

/// Sets the pull policy: `Always` for the tag `latest`, which is also the default tag.
pub(super) fn pull_policy(map: &mut Map<String, Value>, field: &str, image: &str) {
    let policy = match tag(text(map, image)) {
        Some("latest") => "Always",
        _ => "IfNotPresent",
    };
    absent(map, field, || json!(policy));
}

/// Returns the tag of an image. Absent for an image with only a digest, and for an empty name.
fn tag(image: &str) -> Option<&str> {
    let (name, digest) = match image.split_once('@') {
        Some((name, digest)) => (name, Some(digest)),
        None => (image, None),
    };
    let last = name.rsplit('/').next().unwrap_or(name);
    match last.split_once(':') {
        Some((_, tag)) => Some(tag),
        None if digest.is_some() || last.is_empty() => None,
        None => Some("latest"),
    }
}
