//! Admits writes only in namespaces that exist and are not terminating.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#namespacelifecycle>

use serde_json::{Value, json};

use super::metadata;
use super::request::ResourceRequest;
use super::transaction::Transaction;
use crate::access;
use crate::error::ApiError;

/// The namespaces that cannot be deleted.
const UNDELETABLE: &[&str] = &["default", "kube-system", "kube-public"];

/// Checks that the namespace of a new object exists and is not terminating.
pub(super) fn create(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    name: &str,
) -> Result<(), ApiError> {
    if !call.resource.namespaced {
        return Ok(());
    }
    let namespace = &call.namespace;
    let Some(live) = tx.get("namespaces", "", namespace) else {
        return Err(ApiError::not_found("", "namespaces", namespace));
    };
    if !metadata::is_terminating(&live) || is_review(call) {
        return Ok(());
    }
    Err(terminating(call, namespace, name))
}

/// Checks that the namespace of an updated object exists.
pub(super) fn update(tx: &Transaction<'_>, call: &ResourceRequest) -> Result<(), ApiError> {
    let namespace = &call.namespace;
    if call.resource.namespaced && tx.get("namespaces", "", namespace).is_none() {
        return Err(ApiError::not_found("", "namespaces", namespace));
    }
    Ok(())
}

/// Checks that a role or binding grants only permissions that its writer has.
pub(super) fn escalation(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    object: &Value,
    live: Option<&Value>,
) -> Result<(), ApiError> {
    let same = |field: &str| live.is_some_and(|live| live[field] == object[field]);
    let grants_nothing_new = same("rules") && same("roleRef") && same("subjects");
    if &*call.resource.group != access::GROUP || grants_nothing_new {
        return Ok(());
    }
    access::escalation::check(&call.resource.kind, object, &call.user, tx)
}

/// Refuses to delete the namespaces of [`UNDELETABLE`].
pub(super) fn delete(call: &ResourceRequest) -> Result<(), ApiError> {
    if &**call.resource.id() != "namespaces" || !UNDELETABLE.contains(&&*call.name) {
        return Ok(());
    }
    Err(forbidden(
        call,
        &call.name,
        "this namespace may not be deleted",
    ))
}

/// Returns the 403 with the name of the object and a reason.
pub(super) fn forbidden(call: &ResourceRequest, name: &str, why: &str) -> ApiError {
    let (group, plural) = (&*call.resource.group, &*call.resource.plural);
    let id = call.resource.id();
    let message = format!("{id} {name:?} is forbidden: {why}");
    ApiError::forbidden(message).about(group, plural, name)
}

fn is_review(call: &ResourceRequest) -> bool {
    call.resource.plural.ends_with("reviews")
}

fn terminating(call: &ResourceRequest, namespace: &str, name: &str) -> ApiError {
    let why = format!(
        "unable to create new content in namespace {namespace} because it is being terminated"
    );
    let cause = json!({
        "reason": "NamespaceTerminating",
        "message": format!("namespace {namespace} is being terminated"),
        "field": "metadata.namespace",
    });
    forbidden(call, name, &why).with_detail("causes", Value::Array(vec![cause]))
}
