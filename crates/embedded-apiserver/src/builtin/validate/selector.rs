//! Validates label selectors in objects.

use serde_json::{Value, json};

use super::super::metadata::validate_labels;
use super::super::path::{items, text};
use super::check::{Errors, each, join};
use crate::error::FieldError;
use crate::labels::LabelSelector;
use crate::names;

/// Validates a `metav1.LabelSelector`, if it is set.
pub(crate) fn validate(selector: &Value, path: &str) -> Errors {
    let mut errors = validate_labels(&selector["matchLabels"], &join(path, "matchLabels"));
    for (at, one) in items(&selector["matchExpressions"]).iter().enumerate() {
        let path = format!("{path}.matchExpressions[{at}]");
        requirement(&mut errors, one, &path, Operators::OfLabels);
    }
    errors
}

/// The operators that a requirement can have.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operators {
    /// `In`, `NotIn`, `Exists`, `DoesNotExist`
    OfLabels,
    /// The operators of labels, and `Gt` and `Lt`.
    OfNodes,
}

/// Validates an entry of `matchExpressions`.
pub(super) fn requirement(errors: &mut Errors, one: &Value, path: &str, operators: Operators) {
    let values = items(&one["values"]);
    match text(one, &["operator"]) {
        "In" | "NotIn" if values.is_empty() => {
            let detail = "must be specified when `operator` is 'In' or 'NotIn'";
            errors.push(FieldError::required(join(path, "values"), detail));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(FieldError::forbidden(join(path, "values"), detail));
        }
        "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
        "Gt" | "Lt" if operators == Operators::OfNodes => {
            if values.len() != 1 {
                let detail = "must be specified single value when `operator` is 'Lt' or 'Gt'";
                errors.push(FieldError::required(join(path, "values"), detail));
            }
        }
        other => {
            let detail = "not a valid selector operator";
            errors.push(FieldError::invalid(join(path, "operator"), other, detail));
        }
    }
    let key = text(one, &["key"]);
    each(errors, &join(path, "key"), key, names::qualified(key));
    for (at, value) in values.iter().filter_map(Value::as_str).enumerate() {
        let path = format!("{path}.values[{at}]");
        each(errors, &path, value, names::label_value(value));
    }
}

/// Validates the selector of a workload: it must exist, be valid, not be empty, and match the workload's
/// template.
pub(super) fn validate_of_workload(spec: &Value, kind: &str, required: bool) -> Errors {
    let selector = &spec["selector"];
    let labels = &spec["template"]["metadata"]["labels"];
    let path = "spec.selector";
    if selector.is_null() {
        let mut errors = Vec::new();
        if required {
            errors.push(FieldError::required(path, ""));
        }
        errors.push(mismatch(labels));
        return errors;
    }
    let mut errors = validate(selector, path);
    if *selector == json!({}) {
        let detail = format!("empty selector is invalid for {kind}");
        errors.push(FieldError::invalid(path, selector.clone(), detail));
        return errors;
    }
    match LabelSelector::from_value(selector) {
        Ok(parsed) if !parsed.matches(|key| labels[key].as_str()) => errors.push(mismatch(labels)),
        Ok(_) => {}
        Err(_) => {
            let detail = "invalid label selector";
            errors.push(FieldError::invalid(path, selector.clone(), detail));
        }
    }
    errors
}

/// Returns the error for a selector that does not match the labels of the template.
pub(super) fn mismatch(labels: &Value) -> FieldError {
    let detail = "`selector` does not match template `labels`";
    FieldError::invalid("spec.template.metadata.labels", labels.clone(), detail)
}
