//! JSON merge patches (RFC 7386), with the behavior of evanphx/json-patch, which the real server uses.
//!
//! It extends the RFC: nulls are also removed from maps in a list that the patch adds.

use serde_json::{Map, Value};

use crate::{error::ApiError, go};

/// Applies a merge patch. Returns an error for a patch that is not an object, like the real server.
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
            // A list that replaces a map keeps its nulls.
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
