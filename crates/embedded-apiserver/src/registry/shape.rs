//! The shape that all stages require: an object with metadata.

use serde_json::{Map, Value};

use crate::error::ApiError;
use crate::go;

/// Returns the error of Go's decoder if the kind or the apiVersion is not a string.
pub(super) fn type_meta(object: &Value) -> Result<(), String> {
    let parsing = "couldn't get version/kind; json parse error: json: cannot unmarshal";
    let Value::Object(map) = object else {
        if object.is_null() {
            return Err("Object 'Kind' is missing in 'null'".to_owned());
        }
        let kind = go::json_kind(object);
        return Err(format!(
            "{parsing} {kind} into Go value of type {}",
            go::TYPE_META
        ));
    };
    for field in ["apiVersion", "kind"] {
        let value = map.get(field).unwrap_or(&Value::Null);
        if !value.is_string() && !value.is_null() {
            let kind = go::json_kind(value);
            return Err(format!(
                "{parsing} {kind} into Go struct field .{field} of type string"
            ));
        }
    }
    Ok(())
}

/// Checks that a value is an object with metadata, and adds empty metadata if there are none.
pub(super) fn ensure_metadata(object: &mut Value) -> Result<(), ApiError> {
    if let Err(why) = type_meta(object) {
        return Err(ApiError::bad_request(why));
    }
    let Value::Object(map) = object else {
        return Ok(());
    };
    let metadata = map.entry("metadata").or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    if !metadata.is_object() {
        return Err(ApiError::bad_request(format!(
            "json: cannot unmarshal {} into Go value of type v1.ObjectMeta",
            go::json_kind(metadata)
        )));
    }
    Ok(())
}
