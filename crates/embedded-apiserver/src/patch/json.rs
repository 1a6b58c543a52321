//! JSON patches (RFC 6902), with the behavior of evanphx/json-patch, which the real server uses.

use serde_json::{Map, Value, json};

use crate::schema::decode::{MAX_DEPTH, depth};
use crate::{error::ApiError, go};

/// The maximum number of operations, as `maxJSONPatchOperations` of the real server.
const MAX_OPERATIONS: usize = 10_000;
/// The maximum number of bytes that `copy` can add, like `JSONPatchMaxCopyBytes` of the real server. Each
/// copy can double the size of the object.
const MAX_COPIED: usize = 3 * 1024 * 1024;

/// Applies the operations of a JSON patch.
///
/// It extends the RFC: `test` with null succeeds for a missing value, `replace` can add a value, and `-1` is
/// the last item of a list.
pub(crate) fn json(live: &Value, patch: &Value) -> Result<Value, ApiError> {
    let Value::Array(operations) = patch else {
        return Err(ApiError::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {} into Go value of type []handlers.jsonPatchOp",
            go::json_kind(patch)
        )));
    };
    if operations.len() > MAX_OPERATIONS {
        let message = format!(
            "Request entity too large: The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {}",
            operations.len()
        );
        return Err(ApiError::too_large(message));
    }
    check_types(operations)?;
    let mut patched = live.clone();
    let mut budget = MAX_COPIED;
    for operation in operations {
        apply(&mut patched, operation, &mut budget).ok_or_else(rejected)?;
    }
    Ok(patched)
}

/// Applies the JSON patch of an admission policy. Returns nothing if a `test` of it fails.
pub(crate) fn json_of_policy(object: &Value, patch: &Value) -> Result<Option<Value>, String> {
    let mut patched = object.clone();
    let mut budget = MAX_COPIED;
    for operation in patch.as_array().into_iter().flatten() {
        if apply(&mut patched, operation, &mut budget).is_some() {
            continue;
        }
        let text = |name: &str| operation[name].as_str().unwrap_or_default();
        let path = text("path");
        let last = split(path).map(|(_, last)| last).unwrap_or_default();
        return match text("op") {
            "test" => Ok(None),
            "remove" => Err(format!(
                "error in remove for path: '{path}': Unable to remove nonexistent key: {last}: missing value"
            )),
            op @ ("add" | "replace" | "copy" | "move") => Err(format!(
                "{op} operation does not apply: doc is missing path: {path:?}: missing value"
            )),
            op => Err(format!("Unexpected kind: {op}")),
        };
    }
    Ok(Some(patched))
}

/// Checks that each operation is an object, and that `op`, `from` and `path` are strings.
fn check_types(operations: &[Value]) -> Result<(), ApiError> {
    let refuse = |found: &Value, into: &str, wanted: &str| {
        let kind = go::json_kind(found);
        ApiError::bad_request(format!(
            "error decoding patch: json: cannot unmarshal {kind} into Go {into} of type {wanted}"
        ))
    };
    for operation in operations {
        let Value::Object(fields) = operation else {
            return Err(refuse(operation, "value", "handlers.jsonPatchOp"));
        };
        for name in ["op", "from", "path"] {
            match fields.get(name) {
                None | Some(Value::Null | Value::String(_)) => {}
                Some(other) => {
                    let field = format!("struct field jsonPatchOp.{name}");
                    return Err(refuse(other, &field, "string"));
                }
            }
        }
    }
    Ok(())
}

/// Returns errors for unknown fields of operations: `json patch unknown field "[0].foo"`.
pub(crate) fn unknown_fields(patch: &Value) -> Vec<String> {
    let mut unknown = Vec::new();
    for (index, operation) in patch.as_array().into_iter().flatten().enumerate() {
        for name in operation.as_object().into_iter().flat_map(Map::keys) {
            if !matches!(name.as_str(), "op" | "path" | "from" | "value") {
                unknown.push(format!("json patch unknown field \"[{index}].{name}\""));
            }
        }
    }
    unknown
}

/// Applies an operation. Returns nothing if it cannot be applied.
fn apply(object: &mut Value, operation: &Value, budget: &mut usize) -> Option<()> {
    let text = |name: &str| operation.get(name).and_then(Value::as_str);
    let value = || operation.get("value").cloned().unwrap_or_default();
    let path = text("path")?;
    match text("op")? {
        "add" => add(object, path, value()),
        "remove" => remove(object, path).map(drop),
        "replace" => replace(object, path, value()),
        "move" => {
            let value = remove(object, text("from")?)?;
            add(object, path, value)
        }
        "copy" => {
            let value = get(object, text("from")?)?;
            *budget = budget.checked_sub(go::json(value).len())?;
            let value = value.clone();
            add(object, path, value)
        }
        "test" => {
            let found = get(object, path)?;
            (*found == value()).then_some(())
        }
        _ => None,
    }
}

/// Returns the parent and the unescaped last segment of a path. The whole object has no parent.
fn split(path: &str) -> Option<(&str, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

/// Parses an index of a list. A negative index counts from the end.
fn index(step: &str, length: usize) -> Option<usize> {
    let place = match step.strip_prefix('-') {
        Some(back) => length.checked_sub(back.parse().ok()?)?,
        None => step.parse().ok()?,
    };
    (place < length).then_some(place)
}

/// Returns the value at a path. Absent if the parent is missing, and null if a map does not have the key.
fn get<'a>(object: &'a Value, path: &str) -> Option<&'a Value> {
    let (parent, last) = split(path)?;
    match object.pointer(&counted(object, parent))? {
        Value::Object(fields) => Some(fields.get(&last).unwrap_or(&Value::Null)),
        Value::Array(items) => items.get(index(&last, items.len())?),
        _ => None,
    }
}

/// Returns whether a value at a path does not exceed the maximum nesting of an object.
fn fits(path: &str, value: &Value) -> bool {
    path.matches('/').count() + depth(value) <= MAX_DEPTH
}

fn add(object: &mut Value, path: &str, value: Value) -> Option<()> {
    let (parent, last) = split(path)?;
    fits(path, &value).then_some(())?;
    match object.pointer_mut(&counted(object, parent))? {
        Value::Object(fields) => {
            fields.insert(last, value);
        }
        Value::Array(items) if last == "-" => items.push(value),
        Value::Array(items) => items.insert(index(&last, items.len() + 1)?, value),
        _ => return None,
    }
    Some(())
}

fn remove(object: &mut Value, path: &str) -> Option<Value> {
    let (parent, last) = split(path)?;
    match object.pointer_mut(&counted(object, parent))? {
        Value::Object(fields) => fields.remove(&last),
        Value::Array(items) => Some(items.remove(index(&last, items.len())?)),
        _ => None,
    }
}

fn replace(object: &mut Value, path: &str, value: Value) -> Option<()> {
    let (parent, last) = split(path)?;
    fits(path, &value).then_some(())?;
    match object.pointer_mut(&counted(object, parent))? {
        Value::Object(fields) => {
            fields.insert(last, value);
        }
        Value::Array(items) => {
            let place = index(&last, items.len())?;
            items[place] = value;
        }
        _ => return None,
    }
    Some(())
}

/// Returns a path in which negative indexes are replaced by positive ones.
fn counted(object: &Value, path: &str) -> String {
    let mut counted = String::with_capacity(path.len());
    for step in path.split('/').skip(1) {
        let list = object.pointer(&counted).and_then(Value::as_array);
        let place = list.and_then(|items| index(step, items.len()));
        counted.push('/');
        match place {
            Some(place) => counted.push_str(&place.to_string()),
            None => counted.push_str(step),
        }
    }
    counted
}

/// Returns the error of the real server for an operation that cannot be applied.
pub(super) fn rejected() -> ApiError {
    let mut error =
        ApiError::unprocessable("the server rejected our request due to an error in our request");
    error.details = json!({}).as_object().cloned();
    error
}
