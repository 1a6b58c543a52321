//! The stages that creates and updates share.
//!
//! A write passes these stages: syntax, identity, strict decoding, admission, field ownership, mutating
//! policies, preparation, validation, validating policies, authorization of what the object grants, allocation, canonical form, storage. The strategy of
//! the resource defines what each stage does.

use serde_json::Value;

use super::ownership::Ownership;
use super::request::ResourceRequest;
use super::shape::ensure_metadata;
use super::strategy::strategy_of;
use super::transaction::Transaction;
use super::{admission, allocate, identity, metadata, owners, policies, quota};
use crate::error::ApiError;

/// Checks that an object of a request has metadata and the namespace of the URL.
pub(super) fn identify(call: &ResourceRequest, object: &mut Value) -> Result<(), ApiError> {
    ensure_metadata(object)?;
    identity::namespace(call, object)
}

/// Sets the owners of the fields of an object.
pub(super) fn set_owners(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    object: Value,
    live: Option<&Value>,
    ownership: Ownership,
) -> Value {
    ownership.set(call, live, object, &tx.now_rfc3339())
}

/// Validates a prepared object, and gives it the form in which it is stored. Returns the warnings.
pub(super) fn finish(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    object: &mut Value,
    live: Option<&Value>,
) -> Result<Vec<String>, ApiError> {
    let strategy = strategy_of(&call.resource);
    let verdict = strategy.validate(call, object, live);
    if !verdict.errors.is_empty() {
        let (group, kind) = (&*call.resource.group, &*call.resource.kind);
        let name = metadata::name(object);
        return Err(ApiError::invalid(group, kind, name, &verdict.errors));
    }
    admission::escalation(tx, call, object, live)?;
    owners::check(tx, call, object, live)?;
    let mut warnings = verdict.warnings;
    let old = live.unwrap_or(&Value::Null);
    warnings.extend(policies::validate(tx, call, object, old)?);
    quota::admit(tx, call, object, live)?;
    allocate::addresses(tx, call, object)?;
    strategy.canonicalize(object);
    Ok(warnings)
}
