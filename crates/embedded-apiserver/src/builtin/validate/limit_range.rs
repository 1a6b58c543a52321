//! Validates `LimitRange`s: bounds and defaults of requested resources must not contradict each other.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::super::path::{items, text};
use super::super::quantity::Quantity;
use super::check::{Errors, required};
use crate::error::FieldError;

/// Two amounts, of which the first must not exceed the second: their fields, the field in the path of the
/// error, the field with the shown value, and the two names in the message.
type Pair = (
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
    &'static str,
);

const PAIRS: [Pair; 6] = [
    ("min", "max", "min", "min", "min", "max"),
    (
        "min",
        "defaultRequest",
        "defaultRequest",
        "defaultRequest",
        "min",
        "default request",
    ),
    (
        "defaultRequest",
        "max",
        "defaultRequest",
        "defaultRequest",
        "default request",
        "max",
    ),
    (
        "defaultRequest",
        "default",
        "defaultRequest",
        "defaultRequest",
        "default request",
        "default limit",
    ),
    ("min", "default", "default", "min", "min", "default"),
    ("default", "max", "default", "max", "default", "max"),
];

pub(super) fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    let mut types = BTreeSet::new();
    for (at, limit) in items(&object["spec"]["limits"]).iter().enumerate() {
        let path = format!("spec.limits[{at}]");
        let kind = text(limit, &["type"]);
        required(&mut errors, limit, &path, "type");
        if !types.insert(kind) {
            errors.push(FieldError::duplicate(format!("{path}.type"), kind));
        }
        validate_limit(&mut errors, limit, kind, &path);
    }
    errors
}

fn validate_limit(errors: &mut Errors, limit: &Value, kind: &str, path: &str) {
    if kind == "Pod" {
        for field in ["default", "defaultRequest"] {
            if limit[field].as_object().is_some_and(|map| !map.is_empty()) {
                let detail = "may not be specified when `type` is 'Pod'";
                errors.push(FieldError::forbidden(format!("{path}.{field}"), detail));
            }
        }
    }
    let bounded = |field| limit[field].get("storage").is_some();
    if kind == "PersistentVolumeClaim" && !bounded("min") && !bounded("max") {
        let detail =
            "either minimum or maximum storage value is required, but neither was provided";
        errors.push(FieldError::required(format!("{path}.limits"), detail));
    }
    for (lesser, greater, at, shown, lesser_name, greater_name) in PAIRS {
        let amounts = limit[lesser].as_object().into_iter().flat_map(Map::keys);
        for name in amounts {
            let (low, high) = (&limit[lesser][name], &limit[greater][name]);
            let (Some(low_amount), Some(high_amount)) = (amount(low), amount(high)) else {
                continue;
            };
            if low_amount.nano() > high_amount.nano() {
                let (low, high) = (low_amount.canonical(), high_amount.canonical());
                let detail = format!(
                    "{lesser_name} value {low} is greater than {greater_name} value {high}"
                );
                let path = format!("{path}.{at}[{name}]");
                errors.push(FieldError::invalid(
                    path,
                    limit[shown][name].clone(),
                    detail,
                ));
            }
        }
    }
}

fn amount(value: &Value) -> Option<Quantity> {
    value.as_str()?.parse().ok()
}
