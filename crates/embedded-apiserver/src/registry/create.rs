//! Creates objects.

use jiff::Timestamp;
use serde_json::Value;

use super::ownership::Ownership;
use super::request::{ObjectResponse, ResourceRequest};
use super::shape::ensure_metadata;
use super::strategy::strategy_of;
use super::transaction::Transaction;
use super::{admission, encode, metadata, pipeline, pod_admission, policies};
use crate::error::ApiError;
use crate::resource::Generation;
use crate::store::Key;

/// The maximum number of attempts to generate a name that no object has.
const GENERATED_NAME_ATTEMPTS: usize = 8;

/// Creates a decoded object.
pub(crate) fn create(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    object: Value,
) -> Result<ObjectResponse, ApiError> {
    create_owned(tx, call, object, Ownership::Changed)
}

/// Creates an object whose field owners are set according to `ownership`.
pub(super) fn create_owned(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    mut object: Value,
    ownership: Ownership,
) -> Result<ObjectResponse, ApiError> {
    pipeline::identify(call, &mut object)?;
    admission::create(tx, call, metadata::name(&object))?;
    // The real server ignores a `resourceVersion` that is not a number.
    let version = metadata::text(&object, "resourceVersion").parse::<u64>();
    if version.is_ok_and(|version| version != 0) {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(ApiError::unclassified(message));
    }
    if !call.name.is_empty() && metadata::name(&object).is_empty() {
        metadata::of_mut(&mut object).insert("name".to_owned(), call.name.as_str().into());
    }
    let object = named(tx, call, object);
    let mut object = pipeline::set_owners(tx, call, object, None, ownership);
    pod_admission::admit(tx, call, &mut object)?;
    policies::mutate(tx, call, &mut object, &Value::Null)?;
    let mut object = prepared(tx, call, object);
    let warnings = pipeline::finish(tx, call, &mut object, None)?;
    let mut answer = insert(tx, call, object)?;
    answer.warnings.extend(warnings);
    Ok(answer)
}

/// Sets the owner of the fields of a new object.
pub(crate) fn owned(call: &ResourceRequest, mut object: Value, now: Timestamp) -> Value {
    if ensure_metadata(&mut object).is_err() {
        return object;
    }
    Ownership::Changed.set(call, None, object, &metadata::rfc3339(now))
}

/// Generates the name of an object that has only `generateName`.
fn named(tx: &Transaction<'_>, call: &ResourceRequest, mut object: Value) -> Value {
    let base = metadata::text(&object, "generateName").to_owned();
    if base.is_empty() || !metadata::name(&object).is_empty() {
        return object;
    }
    let mut name = metadata::generated_name(&base);
    for _ in 1..GENERATED_NAME_ATTEMPTS {
        if tx
            .get(call.resource.storage(), &call.namespace, &name)
            .is_none()
        {
            break;
        }
        name = metadata::generated_name(&base);
    }
    metadata::of_mut(&mut object).insert("name".to_owned(), name.into());
    object
}

fn prepared(tx: &Transaction<'_>, call: &ResourceRequest, mut object: Value) -> Value {
    metadata::fill_system_fields(&mut object, tx.now());
    strategy_of(&call.resource).prepare_for_create(call, &mut object, &tx.now_rfc3339());
    if call.resource.strategy.generation != Generation::None {
        metadata::of_mut(&mut object).insert("generation".to_owned(), 1.into());
    }
    object
}

fn insert(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    object: Value,
) -> Result<ObjectResponse, ApiError> {
    let (group, plural) = (&*call.resource.group, &*call.resource.plural);
    let name = metadata::name(&object).to_owned();
    let key = Key::new(&call.namespace, &name);
    let live = tx
        .store
        .table(call.resource.storage())
        .and_then(|t| t.get(&key));
    if let Some(live) = live {
        let mut error = ApiError::already_exists(group, plural, &name);
        if metadata::is_terminating(live) {
            error.message = format!("object is being deleted: {}", error.message);
        }
        return Err(error);
    }
    if call.options.dry_run {
        return Ok(ObjectResponse::with_code(201, object));
    }
    let owner = tx.owner(&call.resource);
    let stored = tx
        .store
        .put(&owner, key, encode::to_storage(&call.resource, object));
    let object = encode::presented(&call.resource, &call.version, &stored);
    Ok(ObjectResponse::with_code(201, object))
}
