//! Kinds with few rules: Leases, Events, quotas, classes, budgets, slices.

use serde_json::{Map, Value, json};

use super::super::metadata::validate_kube_finalizers;
use super::super::names;
use super::super::path::{items, text};
use super::check::{self, Errors, address, each, int_or_percent, one_of, required, unchanged};
use super::{container, selector};
use crate::error::{FieldError, FieldErrorKind};

/// The highest priority that is not Kubernetes' own.
const HIGHEST_PRIORITY: i64 = 1_000_000_000;

pub(super) fn validate_quota(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let hard = object["spec"]["hard"]
        .as_object()
        .into_iter()
        .flat_map(Map::iter);
    for (name, amount) in hard {
        let path = format!("spec.hard[{name}]");
        let standard = [
            "cpu",
            "memory",
            "ephemeral-storage",
            "storage",
            "pods",
            "services",
            "secrets",
            "configmaps",
            "replicationcontrollers",
            "resourcequotas",
            "persistentvolumeclaims",
        ];
        each(&mut errors, &path, name, names::qualified(name));
        if !standard.contains(&name.as_str()) && !name.contains(['/', '.', '-']) {
            for detail in [
                "must be a standard resource type or fully qualified",
                "must be a standard resource for quota",
            ] {
                errors.push(FieldError::invalid(path.as_str(), name.as_str(), detail));
            }
        }
        container::validate_amount(&mut errors, amount, path);
    }
    errors
}

/// What holds a namespace until its content is gone: names that are Kubernetes' own, or have a domain.
pub(super) fn validate_namespace(object: &Value) -> Errors {
    let (finalizers, path) = (&object["spec"]["finalizers"], "spec.finalizers");
    let mut errors = Vec::new();
    for (at, one) in items(finalizers)
        .iter()
        .filter_map(Value::as_str)
        .enumerate()
    {
        each(
            &mut errors,
            &format!("{path}[{at}]"),
            one,
            names::qualified(one),
        );
    }
    errors.extend(validate_kube_finalizers(finalizers, path));
    errors
}

pub(super) fn validate_event(group: &str, object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    let new_style = group == "events.k8s.io";
    let field = if new_style {
        "regarding"
    } else {
        "involvedObject"
    };
    let about = text(object, &[field, "namespace"]);
    let namespace = text(object, &["metadata", "namespace"]);
    let cluster_scoped = about.is_empty() && matches!(namespace, "default" | "kube-system");
    if about != namespace && !cluster_scoped {
        let detail = "does not match event.namespace";
        errors.push(FieldError::invalid(
            "involvedObject.namespace",
            about,
            detail,
        ));
    }
    if new_style && old.is_none() {
        validate_new_event(&mut errors, object);
    }
    errors
}

fn validate_new_event(errors: &mut Errors, object: &Value) {
    let kind = text(object, &["type"]);
    if object["eventTime"].is_null() {
        errors.push(FieldError::required("eventTime", ""));
    } else {
        let controller = text(object, &["reportingController"]);
        required(errors, object, "", "reportingController");
        each(
            errors,
            "reportingController",
            controller,
            names::qualified(controller),
        );
        for field in ["reportingInstance", "action", "reason"] {
            required(errors, object, "", field);
        }
    }
    if !matches!(kind, "Normal" | "Warning") {
        let detail = format!("has invalid value: {kind}");
        errors.push(FieldError::invalid("type", "", detail));
    }
}

pub(super) fn validate_disruption_budget(object: &Value) -> Errors {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let (least, most) = (&spec["minAvailable"], &spec["maxUnavailable"]);
    if !least.is_null() && !most.is_null() {
        let value = format!(
            "{{\"MinAvailable\":{least},\"Selector\":{},\"MaxUnavailable\":{most},\"UnhealthyPodEvictionPolicy\":{}}}",
            spec["selector"], spec["unhealthyPodEvictionPolicy"],
        );
        let detail = "minAvailable and maxUnavailable cannot be both set";
        errors.push(FieldError::shown(
            FieldErrorKind::Invalid,
            "spec",
            &value,
            detail,
        ));
    }
    int_or_percent(&mut errors, "spec.minAvailable", least, Some(100));
    int_or_percent(&mut errors, "spec.maxUnavailable", most, Some(100));
    errors.extend(selector::validate(&spec["selector"], "spec.selector"));
    errors
}

pub(super) fn validate_lease(object: &Value) -> Errors {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let duration = &spec["leaseDurationSeconds"];
    if duration.as_i64().is_some_and(|seconds| seconds <= 0) {
        let detail = "must be greater than 0";
        errors.push(FieldError::invalid(
            "spec.leaseDurationSeconds",
            duration.clone(),
            detail,
        ));
    }
    check::not_negative(&mut errors, spec, "spec", &["leaseTransitions"]);
    errors
}

pub(super) fn validate_priority_class(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    let name = text(object, &["metadata", "name"]);
    let value = object["value"].as_i64().unwrap_or_default();
    let known = matches!(name, "system-node-critical" | "system-cluster-critical");
    if name.starts_with("system-") && !known {
        let detail = format!(
            "priority class names with 'system-' prefix are reserved for system use only. error: \
             {name} is not a known system priority class"
        );
        errors.push(FieldError::forbidden("metadata.name", detail));
    } else if !known && value > HIGHEST_PRIORITY {
        let detail =
            format!("maximum allowed value of a user defined priority is {HIGHEST_PRIORITY}");
        errors.push(FieldError::forbidden("value", detail));
    }
    let policies = ["Never", "PreemptLowerPriority"];
    let policy = &object["preemptionPolicy"];
    one_of(
        &mut errors,
        "preemptionPolicy".to_owned(),
        policy,
        &policies,
    );
    if let Some(old) = old {
        if object["value"] != old["value"] {
            errors.push(FieldError::forbidden(
                "value",
                "may not be changed in an update.",
            ));
        }
        unchanged(&mut errors, object, old, &["preemptionPolicy"]);
    }
    errors
}

pub(super) fn validate_storage_class(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    if let Some(old) = old {
        for field in ["provisioner", "reclaimPolicy", "volumeBindingMode"] {
            unchanged(&mut errors, object, old, &[field]);
        }
        if object["parameters"] != old["parameters"] {
            let detail = "updates to parameters are forbidden.";
            errors.push(FieldError::forbidden("parameters", detail));
        }
        return errors;
    }
    let provisioner = text(object, &["provisioner"]);
    let rule = |name: &str| names::qualified(&name.to_lowercase());
    check::name(&mut errors, "provisioner".to_owned(), provisioner, rule);
    let policies = ["Delete", "Retain"];
    one_of(
        &mut errors,
        "reclaimPolicy".to_owned(),
        &object["reclaimPolicy"],
        &policies,
    );
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of(
        &mut errors,
        "volumeBindingMode".to_owned(),
        &object["volumeBindingMode"],
        &modes,
    );
    errors
}

pub(super) fn validate_endpoint_slice(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    let kind = text(object, &["addressType"]);
    let types = ["FQDN", "IPv4", "IPv6"];
    one_of(&mut errors, "addressType".to_owned(), &json!(kind), &types);
    if kind.starts_with("IP") {
        for (at, endpoint) in items(&object["endpoints"]).iter().enumerate() {
            for (place, one) in items(&endpoint["addresses"]).iter().enumerate() {
                let path = format!("endpoints[{at}].addresses[{place}]");
                address(&mut errors, path, one.as_str().unwrap_or_default());
            }
        }
    }
    if let Some(old) = old {
        unchanged(&mut errors, object, old, &["addressType"]);
    }
    errors
}
