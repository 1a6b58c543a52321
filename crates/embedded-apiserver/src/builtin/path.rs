//! Reads fields of objects by path. Missing fields are not errors.

use serde_json::Value;

/// Returns a text field, or an empty text if it is missing.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

/// Returns a field, or null if it is missing.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(object, |value, key| &value[*key])
}

/// Returns the items of a list, or none if it is missing.
pub(crate) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}
