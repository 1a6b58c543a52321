//! The three patches beside server-side apply: each takes the live object and gives the patched one.
//!
//! <https://kubernetes.io/docs/tasks/manage-kubernetes-objects/update-api-object-kubectl-patch/>

mod json;
mod order;
mod strategic;

pub use json::{json, unknown_fields};
pub use strategic::strategic;

use serde_json::Value;

use super::{apply::go, error::ApiError};

/// RFC 7386: a merge patch. What is not an object is refused, as the real server does.
pub fn merge(live: &Value, patch: &Value) -> Result<Value, ApiError> {
    match patch {
        Value::Object(_) => {
            let mut patched = live.clone();
            json_patch::merge(&mut patched, patch);
            Ok(patched)
        }
        Value::Null => Err(ApiError::bad_request("Invalid JSON Patch")),
        other => Err(ApiError::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go::json_kind(other)
        ))),
    }
}

#[cfg(test)]
mod tests;
