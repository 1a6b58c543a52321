//! Validates HorizontalPodAutoscalers of both versions.

use serde_json::Value;

use super::super::path::{items, text};
use super::check::{self, Errors};
use crate::error::FieldError;
use crate::names;

/// The field that a metric of each type requires.
const METRICS: [(&str, &str); 5] = [
    ("ContainerResource", "containerResource"),
    ("External", "external"),
    ("Object", "object"),
    ("Pods", "pods"),
    ("Resource", "resource"),
];

pub(super) fn validate(object: &Value) -> Errors {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let least = spec["minReplicas"].as_i64();
    let most = spec["maxReplicas"].as_i64().unwrap_or_default();
    let metrics = items(&spec["metrics"]);
    if least.is_some_and(|least| least < 1) {
        let shown = spec["minReplicas"].clone();
        let detail = "must be greater than or equal to 1";
        errors.push(FieldError::invalid("spec.minReplicas", shown, detail));
    }
    if most < 1 {
        let detail = "must be set and greater than 0";
        errors.push(FieldError::required("spec.maxReplicas", detail));
    }
    if least.is_some_and(|least| most < least) {
        let detail = "must be greater than or equal to `minReplicas`";
        errors.push(FieldError::invalid("spec.maxReplicas", most, detail));
    }
    validate_target(&mut errors, &spec["scaleTargetRef"]);
    for (at, metric) in metrics.iter().enumerate() {
        validate_metric(&mut errors, metric, &format!("spec.metrics[{at}]"));
    }
    let scales_from_zero =
        |metric: &Value| matches!(text(metric, &["type"]), "Object" | "External");
    if least == Some(0) && !metrics.iter().any(scales_from_zero) {
        let detail = "must specify at least one Object or External metric to support scaling to \
                      zero replicas";
        errors.push(FieldError::forbidden("spec.metrics", detail));
    }
    errors
}

fn validate_target(errors: &mut Errors, target: &Value) {
    let path = "spec.scaleTargetRef";
    for field in ["kind", "name"] {
        check::name(
            errors,
            format!("{path}.{field}"),
            text(target, &[field]),
            |name| names::path_segment(name, false),
        );
    }
    let api_version = text(target, &["apiVersion"]);
    if api_version.is_empty() {
        let path = format!("{path}.apiVersion");
        let detail = "apiVersion must specify API group";
        errors.push(FieldError::invalid(path, "", detail));
    }
}

fn validate_metric(errors: &mut Errors, metric: &Value, path: &str) {
    let kind = text(metric, &["type"]);
    match METRICS.iter().find(|(name, _)| *name == kind) {
        None => {
            let names = METRICS.map(|(name, _)| name);
            let error = FieldError::not_supported(format!("{path}.type"), kind, &names);
            // The real server reports this error twice.
            errors.extend([error.clone(), error]);
        }
        Some((_, field)) if metric[*field].is_null() => {
            let detail = "must populate information for the given metric source";
            errors.push(FieldError::required(format!("{path}.{field}"), detail));
        }
        Some(_) => {}
    }
}
