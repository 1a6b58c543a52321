//! Validates built-in kinds, with the messages of the real server.
//!
//! Only the checks that are relevant for operators are implemented. All other values are accepted.
//! [`super::metadata`] checks the metadata.

mod affinity;
mod apps;
mod autoscaling;
mod batch;
mod check;
mod claim;
mod config;
mod container;
mod coordination;
mod core;
mod discovery;
mod events;
mod ingress;
mod limit_range;
mod network_policy;
mod pod;
mod policy;
mod rbac;
mod scheduling;
mod selector;
mod service;
mod storage;
mod volume;
mod webhook;

use serde_json::Value;

use super::metadata;
use crate::error::FieldError;
pub(crate) use check::{Errors, join, one_of, required};
pub(crate) use selector::validate as validate_selector;
pub(crate) use webhook::validate_rule;

/// Validates a new object of a built-in kind, or an update if `old` is set.
pub(crate) fn validate(
    group: &str,
    kind: &str,
    object: &Value,
    old: Option<&Value>,
) -> Vec<FieldError> {
    let mut errors = if old.is_none() {
        metadata::validate_kube_finalizers(&object["metadata"]["finalizers"], "metadata.finalizers")
    } else {
        Vec::new()
    };
    errors.extend(match (group, kind) {
        ("", "Pod") => pod::validate(object, old),
        ("", "PodTemplate") => pod::validate_template(&object["template"], "template"),
        ("", "Service") => service::validate(object, old),
        ("", "ConfigMap") => config::validate_config_map(object, old),
        ("", "Secret") => config::validate_secret(object, old),
        ("", "PersistentVolumeClaim") => claim::validate(object, old),
        ("", "PersistentVolume") => claim::validate_volume(object),
        ("", "ResourceQuota") => core::validate_quota(object),
        ("", "LimitRange") => limit_range::validate(object),
        ("", "Namespace") => core::validate_namespace(object),
        ("" | "events.k8s.io", "Event") => events::validate(group, object, old),
        ("apps", "Deployment") => apps::validate_deployment(object, old),
        ("apps", "ReplicaSet") => apps::validate_replica_set(object, old),
        ("apps", "StatefulSet") => apps::validate_stateful_set(object, old),
        ("apps", "DaemonSet") => apps::validate_daemon_set(object, old),
        ("batch", "Job") => batch::validate_job(object, old),
        ("batch", "CronJob") => batch::validate_cron_job(object, old),
        ("networking.k8s.io", "Ingress") => ingress::validate(object),
        ("networking.k8s.io", "IngressClass") => ingress::validate_class(object, old),
        ("networking.k8s.io", "NetworkPolicy") => network_policy::validate(object),
        ("policy", "PodDisruptionBudget") => policy::validate_disruption_budget(object),
        ("autoscaling", "HorizontalPodAutoscaler") => autoscaling::validate(object),
        ("rbac.authorization.k8s.io", _) => rbac::validate(kind, object, old),
        (
            "admissionregistration.k8s.io",
            "ValidatingWebhookConfiguration" | "MutatingWebhookConfiguration",
        ) => webhook::validate(object),
        ("coordination.k8s.io", "Lease") => coordination::validate_lease(object),
        ("scheduling.k8s.io", "PriorityClass") => scheduling::validate_priority_class(object, old),
        ("storage.k8s.io", "StorageClass") => storage::validate_storage_class(object, old),
        ("discovery.k8s.io", "EndpointSlice") => discovery::validate_endpoint_slice(object, old),
        _ => Vec::new(),
    });
    errors
}
