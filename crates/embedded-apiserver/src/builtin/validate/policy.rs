//! Validates `PodDisruptionBudgets`.

use serde_json::Value;

use super::check::{Errors, int_or_percent};
use super::selector;
use crate::error::{FieldError, FieldErrorKind};

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
