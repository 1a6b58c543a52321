//! Fields that accept a fixed set of texts.

use serde_json::Value;

use crate::error::FieldError;

/// Checks that a value is one of the accepted texts.
pub(super) fn check_enum(
    value: &Value,
    path: &str,
    accepted: &[&str],
    errors: &mut Vec<FieldError>,
) {
    match value.as_str().unwrap_or_default() {
        "" => errors.push(FieldError::required(path, "")),
        text if accepted.contains(&text) => {}
        text => errors.push(FieldError::not_supported(path, text, accepted)),
    }
}
