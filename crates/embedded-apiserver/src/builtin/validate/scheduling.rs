//! Validates `PriorityClasses`.

use serde_json::Value;

use super::super::path::text;
use super::check::{Errors, one_of, unchanged};
use crate::error::FieldError;

/// The maximum priority of a class that a user creates.
const HIGHEST_PRIORITY: i64 = 1_000_000_000;

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
