//! Objects that are made once and then left as they are: `k8s_create`.

use std::sync::Arc;

use bytes::Bytes;
use serde_json::{Value, json};

use super::server_side::{check_owner, child, obstacle};
use super::{Claim, Desired, Error, Memory, Owner, refusal};
use crate::cluster::request::WriteOptions;
use crate::cluster::{Cluster, ErrorKind};
use crate::model::annotations::PRUNE_LABEL;
use crate::model::{Object, ObjectRef};

/// What came of a create.
#[derive(Clone, Debug)]
pub struct Created {
    /// The object as it is.
    pub object: Arc<Object>,
    /// Whether it is new; else it was there, and is as it was.
    pub new: bool,
    /// Whether garbage collection cannot reach it from the custom resource.
    pub unreachable: bool,
}

/// Makes an object if there is none of its name, owned and never pruned; with `generateName` and no
/// name, a new one each time. No request where it is known to be there.
///
/// An existing object is left as it is, whoever owns it: it is not adopted.
pub async fn create(
    cluster: &Cluster,
    memory: &Memory,
    owner: &Owner,
    desired: &Desired,
) -> Result<Created, Error> {
    let place = desired.place(cluster, owner).await?;
    let ownership = place.ownership(owner, true, None);
    let unreachable = ownership.is_unreachable();
    let found = |object: Arc<Object>| Created {
        object,
        new: false,
        unreachable: false,
    };
    let generated = desired.name.is_empty();
    if ownership.is_owned() {
        // From now on the cache of children knows what is made here.
        child(cluster, &place.object).await?;
    }
    if !generated && let Some(live) = cluster.read(&place.object).await?.object {
        check_former(cluster, owner, &live).await?;
        return Ok(found(live));
    }
    // A generated name tells nothing apart: all that one owner makes so counts as one.
    let made = ObjectRef {
        name: if generated {
            (*owner.manager).into()
        } else {
            Arc::clone(&desired.name)
        },
        ..place.object.clone()
    };
    if ownership.is_owned() && memory.was_just_made(&made) {
        check_owner(cluster, owner).await?;
    }
    let mut body = desired.body(&place, owner, ownership)?;
    if ownership.is_owned() {
        body["metadata"]["labels"][PRUNE_LABEL] = json!("never");
    }
    if unreachable && let Some(guard) = &owner.guard {
        guard.hold().await?;
    }
    match post(cluster, owner, &place.object, &body).await {
        Ok(object) => {
            if !cluster.is_dry_run() {
                memory.made(&made);
            }
            Ok(Created {
                object,
                new: true,
                unreachable,
            })
        }
        Err(error) if error.kind == ErrorKind::AlreadyExists && !generated => {
            let Some(live) = cluster.get(&place.object).await? else {
                return Err(error.into());
            };
            check_former(cluster, owner, &live).await?;
            Ok(found(live))
        }
        Err(error) => Err(refusal::explain(cluster, owner, error).await),
    }
}

/// What an earlier custom resource of the same name left is about to be removed: not an object to rely
/// on.
async fn check_former(cluster: &Cluster, owner: &Owner, live: &Arc<Object>) -> Result<(), Error> {
    if Claim::of(owner, live) != Claim::Former {
        return Ok(());
    }
    Err(Error::Former {
        cr: owner.cr.clone(),
        obstacle: obstacle(cluster, &live.object_ref(), live).await,
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
