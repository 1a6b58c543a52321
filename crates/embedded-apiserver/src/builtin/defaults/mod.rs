//! Defaults of built-in kinds, as the API server sets them before it validates.
//!
//! Sets defaults by type while it descends through the object, parents first. A container has the same
//! defaults in every kind. Constant defaults are in a table. The others have one function per type.

mod apps;
mod autoscaling;
mod constants;
mod core;
mod pod;
mod secret;
mod service;

use serde_json::{Map, Value, json};

use super::canonical;

/// Sets the defaults of an object of a built-in kind, and converts it to [`canonical`](fn@super::canonical)
/// form.
pub(crate) fn defaults(group: &str, version: &str, kind: &str, object: &mut Value) {
    if group == "apiextensions.k8s.io" {
        // `crd` gives definitions their defaults and their form, which keeps empty lists.
        return;
    }
    canonical::canonical(group, version, kind, object);
    canonical::canonical_with(group, version, kind, object, &set);
}

fn set(name: &str, map: &mut Map<String, Value>) {
    for (_, field, value) in constants::constants_of(name) {
        absent(map, field, || value.json());
    }
    match name {
        "core/v1.Pod" => pod::pod(map),
        "core/v1.PodSpec" => pod::service_account(map),
        "core/v1.Volume" => pod::volume(map),
        "core/v1.ImageVolumeSource" => pod::pull_policy(map, "pullPolicy", "reference"),
        "core/v1.Container" | "core/v1.EphemeralContainerCommon" => {
            pod::pull_policy(map, "imagePullPolicy", "image");
        }
        "core/v1.Secret" => secret::merge_string_data(map),
        "core/v1.Service" => service::service(map),
        "core/v1.Namespace" => core::namespace(map),
        "core/v1.NodeStatus" => core::node_status(map),
        "core/v1.LimitRangeItem" => core::limit_range_item(map),
        "core/v1.ReplicationController" => core::replication_controller(map),
        "apps/v1.DeploymentStrategy" => apps::deployment_strategy(map),
        "apps/v1.DaemonSetUpdateStrategy" => apps::daemon_set_strategy(map),
        "apps/v1.StatefulSetUpdateStrategy" => apps::stateful_set_strategy(map),
        "batch/v1.Job" => apps::job(map),
        "networking/v1.NetworkPolicySpec" => core::network_policy(map),
        "autoscaling/v2.HorizontalPodAutoscalerSpec" => autoscaling::spec(map),
        "autoscaling/v1.HorizontalPodAutoscalerSpec" => autoscaling::spec_v1(map),
        "storage/v1.CSIDriverSpec" => absent(map, "volumeLifecycleModes", || json!(["Persistent"])),
        "apps/v1.StatefulSetSpec" => apps::claim_templates(map),
        "rbac/v1.RoleRef" => core::role_ref(map),
        "rbac/v1.Subject" => core::subject(map),
        _ => {}
    }
}

/// Sets a field that is missing or null.
fn absent(map: &mut Map<String, Value>, field: &str, value: impl FnOnce() -> Value) {
    if map.get(field).is_none_or(Value::is_null) {
        map.insert(field.to_owned(), value());
    }
}

/// Returns a struct in a struct, and creates it if it is missing.
fn within<'a>(map: &'a mut Map<String, Value>, field: &str) -> Option<&'a mut Map<String, Value>> {
    absent(map, field, || json!({}));
    map.get_mut(field)?.as_object_mut()
}

/// Returns a text field, or an empty text if it is missing.
fn text<'a>(map: &'a Map<String, Value>, field: &str) -> &'a str {
    map.get(field).and_then(Value::as_str).unwrap_or_default()
}
