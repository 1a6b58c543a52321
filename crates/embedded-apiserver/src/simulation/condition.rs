//! Conditions in statuses.

use serde_json::{Value, json};

use crate::builtin::path::{items, text};

/// A condition by its type.
pub(super) fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    items(&status["conditions"])
        .iter()
        .find(|one| one["type"] == kind)
}

/// Returns whether a condition is true.
pub(super) fn is_true(status: &Value, kind: &str) -> bool {
    find(status, kind).is_some_and(|one| one["status"] == "True")
}

/// A condition as controllers write them.
pub(super) fn make(kind: &str, holds: &str, reason: &str, message: &str, now: &str) -> Value {
    json!({
        "type": kind,
        "status": holds,
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    })
}

/// Sets a condition; what it says when it became so stays as long as it is so.
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

/// Sets a condition last in the list, as a Deployment's are; not if nothing of it but times is new.
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
