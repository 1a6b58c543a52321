//! Validates Events.

use serde_json::Value;

use super::super::path::text;
use super::check::{Errors, each, required};
use crate::error::FieldError;
use crate::names;

pub(super) fn validate(group: &str, object: &Value, old: Option<&Value>) -> Errors {
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
        validate_new(&mut errors, object);
    }
    errors
}

fn validate_new(errors: &mut Errors, object: &Value) {
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
