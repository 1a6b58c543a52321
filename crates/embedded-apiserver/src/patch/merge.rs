//! RFC 7386, as evanphx/json-patch does it for the real server.
//!
//! Beyond the RFC: nulls go from the maps in lists, too, where such a list comes in anew.

use serde_json::{Map, Value};

use crate::{error::ApiError, go};

/// Applies a merge patch. What is not an object is refused, as the real server does.
pub(crate) fn merge(live: &Value, patch: &Value) -> Result<Value, ApiError> {
    match (live, patch) {
        (Value::Object(live), Value::Object(patch)) => {
            let mut merged = live.clone();
            merge_maps(&mut merged, patch);
            Ok(Value::Object(merged))
        }
        (_, Value::Object(_) | Value::Null) => Err(ApiError::bad_request("Invalid JSON Patch")),
        (_, other) => Err(ApiError::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go::json_kind(other)
        ))),
    }
}

fn merge_maps(live: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (name, value) in patch {
        match (live.get_mut(name), value) {
            (_, Value::Null) => {
                live.remove(name);
            }
            (Some(Value::Object(live)), Value::Object(patch)) => merge_maps(live, patch),
            // A list in the place of a map is taken as it is.
            (Some(live @ Value::Object(_)), value) => *live = value.clone(),
            (_, value) => {
                let mut value = value.clone();
                drop_nulls(&mut value);
                live.insert(name.clone(), value);
            }
        }
    }
}

fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, field| !field.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}
