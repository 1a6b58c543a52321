//! Creation.

use jiff::Timestamp;
use serde_json::Value;

use super::call::{Answer, Call};
use super::update::Track;
use super::{
    Transaction, admission, allocate, encode, identity, metadata, owners, pod_admission, rules,
};
use crate::error::ApiError;
use crate::resource::Generation;
use crate::store::Key;

/// How often a generated name is made anew before its clash is the client's.
const GENERATED_NAME_ATTEMPTS: usize = 8;

/// Creates an object that has been decoded.
pub(crate) fn create(
    tx: &mut Transaction<'_>,
    call: &Call,
    object: Value,
) -> Result<Answer, ApiError> {
    create_as(tx, call, object, rules::track)
}

/// The same with fields owned by whom `track` says.
pub(super) fn create_as(
    tx: &mut Transaction<'_>,
    call: &Call,
    mut object: Value,
    track: Track,
) -> Result<Answer, ApiError> {
    identity::shape(&mut object)?;
    identity::namespace(call, &mut object)?;
    admission::create(tx, call, metadata::name(&object))?;
    // What is no revision is ignored.
    let version = metadata::text(&object, "resourceVersion").parse::<u64>();
    if version.is_ok_and(|version| version != 0) {
        let message = "resourceVersion should not be set on objects to be created";
        return Err(ApiError::new(500, None, message));
    }
    if !call.name.is_empty() && metadata::name(&object).is_empty() {
        metadata::of_mut(&mut object).insert("name".to_owned(), call.name.as_str().into());
    }
    let object = named(tx, call, object);
    let mut object = track(call, None, object, &tx.now_rfc3339());
    pod_admission::admit(tx, call, &mut object)?;
    let mut object = prepared(tx, call, object);
    let verdict = rules::validate(call, &object, None);
    if !verdict.errors.is_empty() {
        let (group, kind) = (&*call.resource.group, &*call.resource.kind);
        return Err(ApiError::invalid(
            group,
            kind,
            metadata::name(&object),
            &verdict.errors,
        ));
    }
    admission::escalation(tx, call, &object, None)?;
    owners::check(tx, call, &object, None)?;
    allocate::addresses(tx, call, &mut object)?;
    rules::kept(call, &mut object);
    let mut answer = insert(tx, call, object)?;
    answer.warnings.extend(verdict.warnings);
    Ok(answer)
}

/// An object that is not stored, with its fields owned by who sends it.
pub(crate) fn owned(call: &Call, mut object: Value, now: Timestamp) -> Value {
    if identity::shape(&mut object).is_err() {
        return object;
    }
    rules::track(call, None, object, &metadata::rfc3339(now))
}

/// A name of its own for an object that only says how it begins.
fn named(tx: &Transaction<'_>, call: &Call, mut object: Value) -> Value {
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

fn prepared(tx: &Transaction<'_>, call: &Call, mut object: Value) -> Value {
    metadata::fill_system_fields(&mut object, tx.now());
    rules::prepare_for_create(call, &mut object, &tx.now_rfc3339());
    match call.resource.strategy.generation {
        Generation::None if !call.resource.is_custom() => {}
        _ => {
            metadata::of_mut(&mut object).insert("generation".to_owned(), 1.into());
        }
    }
    object
}

fn insert(tx: &mut Transaction<'_>, call: &Call, object: Value) -> Result<Answer, ApiError> {
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
        return Ok(Answer::with_code(201, object));
    }
    let owner = tx.owner(&call.resource);
    let stored = tx
        .store
        .put(&owner, key, encode::to_storage(&call.resource, object));
    let object = encode::presented(&call.resource, &call.version, &stored);
    Ok(Answer::with_code(201, object))
}
