//! Updates an object or a subresource: the last stages of each PUT and PATCH.

use std::sync::Arc;

use serde_json::Value;

use super::ownership::{self, Ownership};
use super::request::{ObjectResponse, ResourceRequest};
use super::shape::ensure_metadata;
use super::strategy::strategy_of;
use super::transaction::Transaction;
use super::{admission, create, encode, identity, metadata, pipeline, policies};
use crate::apply::reset;
use crate::error::{ApiError, FieldError};
use crate::resource::Generation;
use crate::store::Key;

const STALE: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

/// Replaces the object or subresource of the request's path with a decoded object.
pub(crate) fn update(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    mut object: Value,
) -> Result<ObjectResponse, ApiError> {
    ensure_metadata(&mut object)?;
    identity::name(call, &object)?;
    identity::namespace(call, &mut object)?;
    admission::update(tx, call)?;
    let Some(live) = tx.live(call) else {
        if call.resource.strategy.create_on_update && call.subresource.is_empty() {
            return create::create(tx, call, object);
        }
        return Err(call.not_found(&call.name));
    };
    if !call.resource.strategy.unconditional_update
        && matches!(metadata::text(&object, "resourceVersion"), "" | "0")
    {
        return Err(unconditional(call));
    }
    check_uid(call, &live, &object)?;
    let live = encode::presented(&call.resource, &call.version, &live);
    replace(tx, call, &live, object, Ownership::Changed)
}

/// Returns the 422 for an update without a `resourceVersion`.
pub(super) fn unconditional(call: &ResourceRequest) -> ApiError {
    let text = "must be specified for an update";
    let error = FieldError::invalid("metadata.resourceVersion", Value::from(0), text);
    let (group, plural) = (&*call.resource.group, &*call.resource.plural);
    ApiError::invalid(group, plural, &call.name, &[error])
}

/// Replaces the live object. Both objects are in the version of the request.
pub(super) fn replace(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    live: &Arc<Value>,
    mut object: Value,
    ownership: Ownership,
) -> Result<ObjectResponse, ApiError> {
    check_revision(call, live, &object)?;
    keep_system_fields(&mut object, live);
    let strategy = strategy_of(&call.resource);
    if strategy.restores_before_ownership() && call.subresource == "status" {
        keep_other_parts(call, &mut object, live);
    }
    let mut object = pipeline::set_owners(tx, call, object, Some(live), ownership);
    keep_other_parts(call, &mut object, live);
    policies::mutate(tx, call, &mut object, live)?;
    if !matches!(&*call.subresource, "status" | "finalize") {
        strategy.prepare_for_update(call, &mut object, live);
    }
    count_generation(call, &mut object, live);
    let warnings = pipeline::finish(tx, call, &mut object, Some(live))?;
    ownership::settle_times(live, &mut object);
    let mut answer = commit(tx, call, live, object);
    answer.warnings.extend(warnings);
    Ok(answer)
}

/// Checks that an update contains the uid of the live object, or none.
fn check_uid(call: &ResourceRequest, live: &Value, object: &Value) -> Result<(), ApiError> {
    let (uid, live_uid) = (metadata::text(object, "uid"), metadata::text(live, "uid"));
    if uid.is_empty() || uid == live_uid {
        return Ok(());
    }
    let key = storage_key(call);
    let why = format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object meta: {live_uid}"
    );
    Err(call.conflict(&call.name, &why))
}

/// Returns the key of the object in the etcd of the real server, which messages contain.
fn storage_key(call: &ResourceRequest) -> String {
    let directory = strategy_of(&call.resource).storage_directory(&call.resource);
    let key = Key::new(&call.namespace, &call.name);
    format!("{directory}/{}", key.as_str())
}

/// Checks that the `resourceVersion` of an update, if it has one, is the newest.
fn check_revision(call: &ResourceRequest, live: &Value, object: &Value) -> Result<(), ApiError> {
    let version = metadata::text(object, "resourceVersion");
    if version.is_empty() {
        return Ok(());
    }
    let revision: u64 = version.parse().map_err(|_| {
        let message = format!("strconv.ParseUint: parsing {version:?}: invalid syntax");
        ApiError::unclassified(message)
    })?;
    if revision != 0 && version != metadata::text(live, "resourceVersion") {
        return Err(call.conflict(&call.name, STALE));
    }
    Ok(())
}

/// Restores the fields that no update changes.
fn keep_system_fields(object: &mut Value, live: &Value) {
    for field in [
        "creationTimestamp",
        "resourceVersion",
        "selfLink",
        "generation",
    ] {
        metadata::copy(field, live, object);
    }
    for field in ["uid", "deletionTimestamp", "deletionGracePeriodSeconds"] {
        if object["metadata"].get(field).is_none_or(Value::is_null) {
            metadata::copy(field, live, object);
        }
    }
}

/// Restores the parts that a write to this path does not change.
fn keep_other_parts(call: &ResourceRequest, object: &mut Value, live: &Value) {
    match &*call.subresource {
        "" if call.resource.strategy.status => copy(object, live, "status"),
        "status" | "approval" => {
            let status = object.get("status").cloned();
            let metadata = object["metadata"].clone();
            restore(object, live);
            set(object, "status", status);
            let reset = strategy_of(&call.resource).reset_fields(call);
            keep_written_metadata(reset, object, &metadata);
        }
        "finalize" => {
            let finalizers = object["spec"].get("finalizers").cloned();
            let status = object.get("status").cloned();
            restore(object, live);
            set(object, "status", status);
            set(&mut object["spec"], "finalizers", finalizers);
        }
        _ => {}
    }
}

/// Keeps the metadata that a write of the status changes.
fn keep_written_metadata(reset: reset::Fields, object: &mut Value, written: &Value) {
    let is_reset = |path: &[&str]| reset.contains(&path);
    if is_reset(&["metadata"]) {
        return;
    }
    for field in ["labels", "annotations", "finalizers", "ownerReferences"] {
        if !is_reset(&["metadata", field]) {
            set(&mut object["metadata"], field, written.get(field).cloned());
        }
    }
}

/// Restores the live object with the managed fields of the new one.
fn restore(object: &mut Value, live: &Value) {
    let managed = object["metadata"].get("managedFields").cloned();
    *object = live.clone();
    if let Some(managed) = managed {
        metadata::of_mut(object).insert("managedFields".to_owned(), managed);
    }
}

fn copy(object: &mut Value, live: &Value, field: &str) {
    set(object, field, live.get(field).cloned());
}

fn set(object: &mut Value, field: &str, value: Option<Value>) {
    if let Some(map) = object.as_object_mut() {
        match value {
            Some(value) => map.insert(field.to_owned(), value),
            None => map.remove(field),
        };
    }
}

fn count_generation(call: &ResourceRequest, object: &mut Value, live: &Value) {
    let changed = match call.resource.strategy.generation {
        Generation::None => return,
        _ if call.subresource == "status" => return,
        Generation::Spec => object["spec"] != live["spec"],
        Generation::AllButStatus => differs(object, live, &["metadata", "status"]),
        Generation::All => differs(object, live, &["metadata"]),
    };
    if changed {
        grow_generation(object);
    }
}

/// Increments the generation, which starts at 1.
pub(super) fn grow_generation(object: &mut Value) {
    let generation = object["metadata"]["generation"].as_i64().unwrap_or(0);
    metadata::of_mut(object).insert("generation".to_owned(), (generation + 1).into());
}

/// Returns whether fields other than these differ.
fn differs(object: &Value, live: &Value, but: &[&str]) -> bool {
    let keys = |one: &Value| -> Vec<String> {
        let map = one.as_object().into_iter().flatten();
        let keys = map.map(|(key, _)| key.clone());
        keys.filter(|key| !but.contains(&&**key)).collect()
    };
    let names = keys(object);
    names != keys(live) || names.iter().any(|name| object[name] != live[name])
}

/// Stores a changed object, or removes it if it lost its last finalizer.
fn commit(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    live: &Arc<Value>,
    object: Value,
) -> ObjectResponse {
    let key = Key::new(&call.namespace, &call.name);
    if object == **live {
        return ObjectResponse::ok(Arc::clone(live));
    }
    if call.options.dry_run {
        return ObjectResponse::ok(object);
    }
    let owner = tx.owner(&call.resource);
    if is_over(call, &object) {
        // The revision of this write belongs to the deletion event. The response has the revision of the live
        // object.
        if let Some(last) = tx.live(call) {
            tx.store.remove(&owner, &key, (*last).clone());
        }
        return ObjectResponse::ok(object);
    }
    let stored = tx
        .store
        .put(&owner, key, encode::to_storage(&call.resource, object));
    ObjectResponse::ok(encode::presented(&call.resource, &call.version, &stored))
}

/// Returns whether a terminating object has no finalizer and no grace period.
fn is_over(call: &ResourceRequest, object: &Value) -> bool {
    metadata::is_terminating(object)
        && metadata::finalizers(object).is_empty()
        && object["metadata"]["deletionGracePeriodSeconds"]
            .as_i64()
            .unwrap_or(0)
            == 0
        && !(&**call.resource.id() == "namespaces" && has_spec_finalizers(object))
}

/// Returns whether a namespace has finalizers in its spec.
pub(super) fn has_spec_finalizers(object: &Value) -> bool {
    let finalizers = object["spec"]["finalizers"].as_array();
    finalizers.is_some_and(|list| !list.is_empty())
}
