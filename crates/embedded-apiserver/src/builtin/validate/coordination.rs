//! Validates Leases.

use serde_json::Value;

use super::check::{self, Errors};
use crate::error::FieldError;

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
