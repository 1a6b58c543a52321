//! Creates objects once and leaves them as they are, for `k8s_create`.

use std::sync::Arc;

use bytes::Bytes;
use rand::distr::{Alphanumeric, SampleString};
use serde_json::{Value, json};

use super::live::{check_owner_exists, read_child, subscribe_to_existing};
use super::target::{ApplyTarget, Ownership};
use super::{ApplyCache, Claim, DesiredObject, Error, Owner, conflict};
use crate::cluster::request::{WriteOptions, WriteResponse};
use crate::cluster::watch::Subscription;
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::annotations::PRUNE_LABEL;
use crate::model::{Object, ObjectRef};

/// Length of a generated suffix; two equal ones are practically impossible.
const GENERATED_SUFFIX_CHARS: usize = 10;

/// The result of a create.
#[derive(Clone, Debug)]
pub struct CreateResult {
    /// The live object.
    pub object: Arc<Object>,
    /// True if the object was created; false if it existed and is unchanged.
    pub is_new: bool,
    /// True if garbage collection cannot reach the object from the custom resource.
    pub is_unreachable: bool,
    /// Keeps the watch open that knows of the object, so that the next run need not ask the server.
    pub subscription: Subscription,
}

/// Creates an object if none of its name exists. The custom resource owns it, and it is never pruned.
/// With `generateName` and no name, creates a new object each time. Sends no request if the cache
/// contains the object.
///
/// Does not change or adopt an existing object.
pub async fn create_once(
    cluster: &Cluster,
    cache: &ApplyCache,
    owner: &Owner,
    desired: &DesiredObject,
) -> Result<CreateResult, Error> {
    let mut target = desired.resolve_target(cluster, owner).await?;
    let ownership = target.ownership(owner, true, None);
    let unreachable = ownership.is_unreachable();
    let found = |object: Arc<Object>, subscription| CreateResult {
        object,
        is_new: false,
        is_unreachable: false,
        subscription,
    };
    let generated = desired.name.is_empty();
    if ownership.is_owned() {
        // Starts the cache of children, which then contains the new object.
        read_child(cluster, &target.object).await?;
    }
    let mut subscription = Subscription::permanent();
    if !generated {
        let read = cluster.read(&target.object).await?;
        subscription = read.subscription;
        if let Some(live) = read.object {
            check_former(cluster, owner, &live).await?;
            if Claim::determine(owner, &live) == Claim::Own {
                register_child(owner, &target, ownership).await?;
            }
            return Ok(found(live, subscription));
        }
    }
    let creation = creation_key(owner, desired, &target.object);
    if ownership.is_owned() && cache.was_recently_created(&creation) {
        check_owner_exists(cluster, owner).await?;
    }
    let body = body(desired, &mut target, owner, ownership)?;
    register_child(owner, &target, ownership).await?;
    match post(cluster, owner, &target.object, &body).await {
        Ok(written) => {
            if !written.planned {
                cache.record_creation(&creation);
            }
            Ok(CreateResult {
                object: written.object,
                is_new: true,
                is_unreachable: unreachable,
                subscription,
            })
        }
        Err(error) if error.kind == ErrorKind::AlreadyExists && !generated => {
            let Some(live) = cluster.get(&target.object).await? else {
                return Err(error.into());
            };
            check_former(cluster, owner, &live).await?;
            Ok(found(live, subscription))
        }
        Err(error) => Err(conflict::explain_refusal(cluster, owner, error).await),
    }
}

/// Returns the key of a creation in the cache. Generated names are not known yet, so all such objects of one
/// owner count as one.
fn creation_key(owner: &Owner, desired: &DesiredObject, target: &ObjectRef) -> ObjectRef {
    let name = if desired.name.is_empty() {
        (*owner.manager).into()
    } else {
        Arc::clone(&desired.name)
    };
    ObjectRef {
        name,
        ..target.clone()
    }
}

/// Adds the object to the list of the custom resource if owner references cannot reach it.
async fn register_child(
    owner: &Owner,
    target: &ApplyTarget,
    ownership: Ownership,
) -> Result<(), Error> {
    match &owner.registrar {
        Some(guard) if ownership.is_unreachable() => guard.register(&target.object).await,
        _ => Ok(()),
    }
}

/// Returns the body to send. Generates the name if the custom resource has to list it.
fn body(
    desired: &DesiredObject,
    target: &mut ApplyTarget,
    owner: &Owner,
    ownership: Ownership,
) -> Result<Value, Error> {
    let mut body = desired.body(target, owner, ownership)?;
    if ownership.is_owned() {
        body["metadata"]["labels"][PRUNE_LABEL] = json!("never");
    }
    // The list names a child before it exists. Without a list, the server generates the name.
    if desired.name.is_empty() && ownership.is_unreachable() && owner.registrar.is_some() {
        target.object.name = generate_name(&body).into();
        body["metadata"]["name"] = json!(target.object.name);
    }
    Ok(body)
}

/// Returns a name in the form that the server generates. A child that is listed before it exists needs
/// a name.
fn generate_name(body: &Value) -> String {
    let prefix = body["metadata"]["generateName"]
        .as_str()
        .unwrap_or_default();
    let suffix = Alphanumeric.sample_string(&mut rand::rng(), GENERATED_SUFFIX_CHARS);
    format!("{prefix}{}", suffix.to_lowercase())
}

/// Fails if the object belongs to an earlier custom resource of the same name, because garbage
/// collection removes it.
async fn check_former(cluster: &Cluster, owner: &Owner, live: &Arc<Object>) -> Result<(), Error> {
    if Claim::determine(owner, live) != Claim::Former {
        return Ok(());
    }
    Err(Error::Former {
        cr: owner.cr.clone(),
        existing: subscribe_to_existing(cluster, &live.object_ref(), live).await,
    })
}

async fn post(
    cluster: &Cluster,
    owner: &Owner,
    object: &ObjectRef,
    body: &Value,
) -> Result<WriteResponse, cluster::Error> {
    let options = WriteOptions {
        manager: owner.manager.to_string(),
        ..WriteOptions::default()
    };
    let body = Bytes::from(body.to_string());
    let namespace = object.namespace.as_deref();
    cluster.create(&object.gvk, namespace, body, &options).await
}
