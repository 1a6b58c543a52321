//! Conditions in the status of objects.

use serde_json::{Value, json};

use crate::builtin::path::{items, text};

/// Returns the condition of a type.
pub(super) fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    items(&status["conditions"])
        .iter()
        .find(|one| one["type"] == kind)
}

/// Returns whether a condition is true.
pub(super) fn is_true(status: &Value, kind: &str) -> bool {
    find(status, kind).is_some_and(|one| one["status"] == "True")
}

/// Returns a condition in the form in which controllers write it.
pub(super) fn make(kind: &str, holds: &str, reason: &str, message: &str, now: &str) -> Value {
    json!({
        "type": kind,
        "status": holds,
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    })
}

/// Sets a condition. Keeps the transition time if the status of the condition does not change.
pub(super) fn set(status: &mut Value, mut condition: Value) {
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Value::Array(conditions) = &mut status["conditions"] else {
        return;
    };
    let kind = text(&condition, &["type"]).to_owned();
    match conditions
        .iter_mut()
        .find(|one| one["type"] == kind.as_str())
    {
        Some(found) => {
            if found["status"] == condition["status"] {
                condition["lastTransitionTime"] = found["lastTransitionTime"].clone();
            }
            *found = condition;
        }
        None => conditions.push(condition),
    }
}

/// Sets a condition at the end of the list, as for Deployments. Does nothing if neither its status nor its
/// reason changes.
pub(super) fn append(status: &mut Value, mut condition: Value) {
    let kind = text(&condition, &["type"]).to_owned();
    if let Some(found) = find(status, &kind)
        && found["status"] == condition["status"]
    {
        condition["lastTransitionTime"] = found["lastTransitionTime"].clone();
        if found["reason"] == condition["reason"] {
            return;
        }
    }
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    if let Value::Array(conditions) = &mut status["conditions"] {
        conditions.retain(|one| one["type"] != kind.as_str());
        conditions.push(condition);
    }
}
