//! The conditions of a definition.
//!
//! <https://kubernetes.io/docs/reference/kubernetes-api/extend-resources/custom-resource-definition-v1/#CustomResourceDefinitionStatus>

use serde_json::{Value, json};

/// A condition as the controllers of the real server set it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Condition<'a> {
    pub(super) kind: &'static str,
    pub(super) status: &'static str,
    pub(super) reason: &'a str,
    pub(super) message: &'a str,
}

/// The progress of the deletion of a definition's resources.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deletion {
    /// A client requested the deletion.
    Pending,
    /// Custom resources are being deleted.
    InProgress,
    /// No custom resource is left.
    Completed,
}

/// Returns the status of a definition with this progress of its deletion.
pub(crate) fn terminating(crd: &Value, deletion: Deletion, now: &str) -> Value {
    let (status, reason, message) = match deletion {
        Deletion::Pending => (
            "True",
            "InstanceDeletionPending",
            "CustomResourceDefinition marked for deletion; CustomResource deletion will begin soon",
        ),
        Deletion::InProgress => (
            "True",
            "InstanceDeletionInProgress",
            "CustomResource deletion is in progress",
        ),
        Deletion::Completed => (
            "False",
            "InstanceDeletionCompleted",
            "removed all instances",
        ),
    };
    let condition = Condition {
        kind: "Terminating",
        status,
        reason,
        message,
    };
    let mut status = crd["status"].clone();
    set(&mut status, condition, now);
    status
}

/// Returns whether a condition exists and is true.
pub(crate) fn is_true(crd: &Value, kind: &str) -> bool {
    find(&crd["status"], kind).is_some_and(|it| it["status"] == "True")
}

pub(super) fn find<'a>(status: &'a Value, kind: &str) -> Option<&'a Value> {
    status
        .get("conditions")?
        .as_array()?
        .iter()
        .find(|it| it["type"] == kind)
}

/// Sets a condition. Its time changes only when its status changes.
pub(super) fn set(status: &mut Value, condition: Condition<'_>, now: &str) {
    let Condition {
        kind,
        status: value,
        reason,
        message,
    } = condition;
    let mut new = json!({
        "type": kind,
        "status": value,
        "reason": reason,
        "message": message,
        "lastTransitionTime": now,
    });
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Some(all) = status["conditions"].as_array_mut() else {
        return;
    };
    match all.iter_mut().find(|it| it["type"] == kind) {
        None => all.push(new),
        Some(old) => {
            if old["status"] == value {
                new["lastTransitionTime"] = old["lastTransitionTime"].clone();
            }
            *old = new;
        }
    }
}
