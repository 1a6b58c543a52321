//! Deletion: immediate, after a grace period, or after the release of the last finalizer.
//!
//! <https://kubernetes.io/docs/concepts/architecture/garbage-collection/>

use std::sync::Arc;

use jiff::SignedDuration;
use serde_json::{Value, json};

use super::list::{self, ListOptions, ListResponse};
use super::request::{ObjectResponse, ResourceRequest};
use super::strategy::DEFINITIONS;
use super::transaction::Transaction;
use super::update::{grow_generation, has_spec_finalizers};
use super::{admission, encode, metadata, policies};
use crate::crd::{self, conditions};
use crate::error::ApiError;
use crate::store::Key;

/// The grace period of Pods without `terminationGracePeriodSeconds`, in seconds.
const DEFAULT_GRACE: i64 = 30;

/// The options of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct DeleteOptions {
    /// `gracePeriodSeconds`
    pub grace_period: Option<i64>,
    /// `propagationPolicy`
    pub propagation: Option<Propagation>,
    /// The preconditions of the deletion.
    pub preconditions: Preconditions,
}

/// `preconditions` of a deletion.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Preconditions {
    /// The object's uid.
    pub uid: Option<String>,
    /// The object's `resourceVersion`.
    pub resource_version: Option<String>,
}

/// The way in which the garbage collector handles dependents.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The garbage collector deletes them after the owner.
    Background,
    /// The garbage collector deletes them before the owner.
    Foreground,
    /// The garbage collector keeps them, without a reference to the owner.
    Orphan,
}

/// Deletes one object.
pub(crate) fn delete(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    options: &DeleteOptions,
) -> Result<ObjectResponse, ApiError> {
    admission::delete(call)?;
    let Some(live) = tx.live(call) else {
        return Err(call.not_found(&call.name));
    };
    check(call, &live, &options.preconditions)?;
    let warnings = policies::validate(tx, call, &Value::Null, &live)?;
    let mut answer = remove(tx, call, &live, options);
    answer.warnings.extend(warnings);
    Ok(answer)
}

/// Removes an object, or marks one that must stay for some time as terminating.
fn remove(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    live: &Arc<Value>,
    options: &DeleteOptions,
) -> ObjectResponse {
    let marked = marked(tx, call, live, options);
    let key = Key::new(&call.namespace, &call.name);
    let owner = tx.owner(&call.resource);
    if stays(call, &marked) {
        let object = if marked == **live || call.options.dry_run {
            Arc::new(marked)
        } else {
            tx.store.put(&owner, key, marked)
        };
        return ObjectResponse::ok(encode::presented(&call.resource, &call.version, &object));
    }
    // Only a resource with graceful deletion has a `deletionTimestamp` in the last state of its objects.
    let last = if call.resource.strategy.graceful {
        marked
    } else {
        (**live).clone()
    };
    let shown = Arc::new(last.clone());
    if !call.options.dry_run {
        tx.store.remove(&owner, &key, last);
    }
    if call.resource.strategy.returns_deleted {
        let object = encode::presented(&call.resource, &call.version, &shown);
        return ObjectResponse::ok(object);
    }
    ObjectResponse::ok(success(call, live))
}

/// Deletes the objects that a list with these options returns. Returns their last state.
pub(crate) fn delete_collection(
    tx: &mut Transaction<'_>,
    call: &ResourceRequest,
    which: &ListOptions,
    options: &DeleteOptions,
) -> Result<ListResponse, ApiError> {
    let mut listed = list::list(tx.store, call, which)?;
    for object in &mut listed.items {
        let one = ResourceRequest {
            namespace: metadata::namespace(object).to_owned(),
            name: metadata::name(object).to_owned(),
            ..call.clone()
        };
        match delete(tx, &one, options) {
            Ok(answer) if answer.object["kind"] != "Status" => *object = answer.object,
            Ok(_) => {}
            Err(error) if error.code == 404 => {}
            Err(error) => return Err(error),
        }
    }
    Ok(listed)
}

fn check(
    call: &ResourceRequest,
    live: &Value,
    preconditions: &Preconditions,
) -> Result<(), ApiError> {
    let uid = metadata::text(live, "uid");
    let version = metadata::text(live, "resourceVersion");
    let differs = |wanted: &Option<String>, is: &str| wanted.as_deref().is_some_and(|w| w != is);
    let why = if differs(&preconditions.uid, uid) {
        let wanted = preconditions.uid.as_deref().unwrap_or_default();
        format!(
            "the UID in the precondition ({wanted}) does not match the UID in record ({uid}). The object might have been deleted and then recreated"
        )
    } else if differs(&preconditions.resource_version, version) {
        let wanted = preconditions
            .resource_version
            .as_deref()
            .unwrap_or_default();
        format!(
            "the ResourceVersion in the precondition ({wanted}) does not match the ResourceVersion in record ({version}). The object might have been modified"
        )
    } else {
        return Ok(());
    };
    let resource = &call.resource;
    Err(ApiError::conflict(
        &resource.group,
        &resource.kind,
        &call.name,
        &why,
    ))
}

/// Returns the object with its deletion recorded: finalizers, `deletionTimestamp` and status.
fn marked(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    live: &Value,
    options: &DeleteOptions,
) -> Value {
    let mut object = live.clone();
    let finalizers = finalizers_of(call, live, options);
    if finalizers != metadata::finalizers(live) {
        set_finalizers(&mut object, &finalizers);
    }
    let grace = grace_period(call, live, options);
    if metadata::is_terminating(live) {
        let shorter = live["metadata"]["deletionGracePeriodSeconds"].as_i64() > Some(grace);
        if shorter {
            set_deletion(&mut object, tx, grace);
        }
        return object;
    }
    set_deletion(&mut object, tx, grace);
    let is_definition = &**call.resource.id() == DEFINITIONS;
    if object["metadata"]["generation"].is_number() && !is_definition {
        grow_generation(&mut object);
    }
    match &**call.resource.id() {
        "namespaces" => {
            object["status"]["phase"] = "Terminating".into();
            metadata::of_mut(&mut object).remove("deletionGracePeriodSeconds");
        }
        DEFINITIONS => mark_definition(&mut object, tx),
        _ => {}
    }
    object
}

/// Adds the finalizer that keeps a definition until its objects are deleted.
fn mark_definition(object: &mut Value, tx: &Transaction<'_>) {
    let mut finalizers = metadata::finalizers(object);
    if !finalizers.contains(&crd::FINALIZER) {
        finalizers.push(crd::FINALIZER);
    }
    let finalizers: Vec<String> = finalizers.into_iter().map(str::to_owned).collect();
    let metadata = metadata::of_mut(object);
    metadata.insert("finalizers".to_owned(), finalizers.into());
    metadata.remove("deletionGracePeriodSeconds");
    object["status"] =
        conditions::terminating(object, conditions::Deletion::Pending, &tx.now_rfc3339());
}

fn set_deletion(object: &mut Value, tx: &Transaction<'_>, grace: i64) {
    let end = tx.now() + SignedDuration::from_secs(grace);
    let metadata = metadata::of_mut(object);
    let end = metadata::rfc3339(end);
    metadata.insert("deletionTimestamp".to_owned(), end.into());
    metadata.insert("deletionGracePeriodSeconds".to_owned(), grace.into());
}

fn set_finalizers(object: &mut Value, finalizers: &[&str]) {
    let list: Vec<String> = finalizers.iter().map(ToString::to_string).collect();
    let metadata = metadata::of_mut(object);
    if list.is_empty() {
        metadata.remove("finalizers");
    } else {
        metadata.insert("finalizers".to_owned(), list.into());
    }
}

/// Returns the grace period in seconds. It is 0 for all objects but running Pods.
fn grace_period(call: &ResourceRequest, live: &Value, options: &DeleteOptions) -> i64 {
    let phase = live["status"]["phase"].as_str().unwrap_or_default();
    let runs = live["spec"]["nodeName"]
        .as_str()
        .is_some_and(|node| !node.is_empty())
        && !matches!(phase, "Succeeded" | "Failed");
    if !call.resource.strategy.graceful || !runs {
        return 0;
    }
    let own = live["spec"]["terminationGracePeriodSeconds"].as_i64();
    let period = options.grace_period.or(own).unwrap_or(DEFAULT_GRACE);
    // A negative period means immediate but graceful: one second.
    if period < 0 { 1 } else { period }
}

/// Returns the finalizers of the object, with the one that requests the propagation policy from the garbage
/// collector.
fn finalizers_of<'a>(
    call: &ResourceRequest,
    live: &'a Value,
    options: &DeleteOptions,
) -> Vec<&'a str> {
    let mut finalizers = metadata::finalizers(live);
    let had = |name: &str| metadata::finalizers(live).contains(&name);
    let policy = match options.propagation {
        Some(policy) => policy,
        None if had("orphan") => Propagation::Orphan,
        None if had("foregroundDeletion") => Propagation::Foreground,
        None if call.resource.strategy.orphan_by_default => Propagation::Orphan,
        None => Propagation::Background,
    };
    finalizers.retain(|one| !matches!(*one, "orphan" | "foregroundDeletion"));
    match policy {
        Propagation::Background => {}
        Propagation::Foreground => finalizers.push("foregroundDeletion"),
        Propagation::Orphan => finalizers.push("orphan"),
    }
    finalizers
}

fn stays(call: &ResourceRequest, marked: &Value) -> bool {
    let waits = marked["metadata"]["deletionGracePeriodSeconds"].as_i64() > Some(0);
    let namespace = &**call.resource.id() == "namespaces" && has_spec_finalizers(marked);
    waits || namespace || !metadata::finalizers(marked).is_empty()
}

fn success(call: &ResourceRequest, live: &Value) -> Value {
    let mut details = json!({
        "name": call.name,
        "kind": &*call.resource.plural,
        "uid": metadata::text(live, "uid"),
    });
    if !call.resource.group.is_empty() {
        details["group"] = (&*call.resource.group).into();
    }
    json!({
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    })
}
