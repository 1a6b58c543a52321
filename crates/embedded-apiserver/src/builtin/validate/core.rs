//! Validates `ResourceQuotas` and Namespaces.

use serde_json::{Map, Value};

use super::super::metadata::validate_kube_finalizers;
use super::super::path::items;
use super::check::{Errors, each};
use super::container;
use crate::error::FieldError;
use crate::names;

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

/// Validates the finalizers of a namespace: qualified names, or names of Kubernetes.
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
