//! Objects that are made once and then left as they are: `k8s_create`.

use std::sync::Arc;

use bytes::Bytes;
use rand::distr::{Alphanumeric, SampleString};
use serde_json::{Value, json};

use super::server_side::{check_owner_exists, read_child, subscribe_to_existing};
use super::target::{ApplyTarget, Ownership};
use super::{ApplyCache, Claim, DesiredObject, Error, Owner, conflict};
use crate::cluster::request::WriteOptions;
use crate::cluster::watch::Subscription;
use crate::cluster::{Cluster, ErrorKind};
use crate::model::annotations::PRUNE_LABEL;
use crate::model::{Object, ObjectRef};

/// Characters of a generated suffix: that two are the same is out of the question.
const GENERATED_SUFFIX_CHARS: usize = 10;

/// What came of a create.
#[derive(Clone, Debug)]
pub struct CreateResult {
    /// The object as it is.
    pub object: Arc<Object>,
    /// Whether it is new; else it was there, and is as it was.
    pub is_new: bool,
    /// Whether garbage collection cannot reach it from the custom resource.
    pub is_unreachable: bool,
    /// Keeps the watch open that knows of the object, so that the next run need not ask the server.
    pub subscription: Subscription,
}

/// Makes an object if there is none of its name, owned and never pruned; with `generateName` and no
/// name, a new one each time. No request where it is known to be there.
///
/// An existing object is left as it is, whoever owns it: it is not adopted.
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
        // From now on the cache of children knows what is made here.
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
    // A generated name tells nothing apart: all that one owner makes so counts as one.
    let made = ObjectRef {
        name: if generated {
            (*owner.manager).into()
        } else {
            Arc::clone(&desired.name)
        },
        ..target.object.clone()
    };
    if ownership.is_owned() && cache.was_recently_created(&made) {
        check_owner_exists(cluster, owner).await?;
    }
    let body = body(desired, &mut target, owner, ownership)?;
    register_child(owner, &target, ownership).await?;
    match post(cluster, owner, &target.object, &body).await {
        Ok(object) => {
            if !cluster.is_dry_run() {
                cache.record_creation(&made);
            }
            Ok(CreateResult {
                object,
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

/// Sees to it that the custom resource lists an object that owner references cannot reach.
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

/// Returns the body to send. A name that the custom resource has to list is generated here.
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
    if desired.name.is_empty() && ownership.is_unreachable() {
        target.object.name = generate_name(&body).into();
        body["metadata"]["name"] = json!(target.object.name);
    }
    Ok(body)
}

/// A name such as the server generates: what is listed before it is made has to have one before.
fn generate_name(body: &Value) -> String {
    let prefix = body["metadata"]["generateName"]
        .as_str()
        .unwrap_or_default();
    let suffix = Alphanumeric.sample_string(&mut rand::rng(), GENERATED_SUFFIX_CHARS);
    format!("{prefix}{}", suffix.to_lowercase())
}

/// Fails for an object of an earlier custom resource of the same name: garbage collection removes it.
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
) -> Result<Arc<Object>, crate::cluster::Error> {
    let options = WriteOptions {
        manager: owner.manager.to_string(),
        ..WriteOptions::default()
    };
    let body = Bytes::from(body.to_string());
    let namespace = object.namespace.as_deref();
    let written = cluster
        .create(&object.gvk, namespace, body, &options)
        .await?;
    Ok(written.object)
}
