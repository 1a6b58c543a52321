//! Reading objects: a field by its path, whatever is or is not there.

use serde_json::Value;

/// A text field; empty where it is missing.
pub(crate) fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

/// A field; null where it is missing.
pub(crate) fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(object, |value, key| &value[*key])
}

/// The items of a list; none where it is missing.
pub(crate) fn items(list: &Value) -> &[Value] {
    list.as_array().map_or(&[], Vec::as_slice)
}
