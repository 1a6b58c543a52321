//! Reads live objects for an apply.

use std::sync::Arc;

use super::{Error, ExistingObject, Owner};
use crate::cluster::Cluster;
use crate::cluster::read::ReadResult;
use crate::cluster::watch::Subscription;
use crate::model::{Object, ObjectRef};

/// Reads a child from the cache of children, or from the server if no such cache is possible.
pub(super) async fn read_child(cluster: &Cluster, object: &ObjectRef) -> Result<ReadResult, Error> {
    let namespace = object.namespace.as_deref();
    let children = cluster.children(&object.gvk, namespace);
    let read = if children.synced().await.is_ok() {
        ReadResult {
            object: children.get(namespace, &object.name),
            subscription: Subscription::permanent(),
        }
    } else {
        ReadResult {
            object: cluster.get(object).await?,
            subscription: Subscription::unwatched(),
        }
    };
    Ok(read)
}

/// Refuses an object that cannot be read completely: its unreadable parts would look absent.
pub(super) fn refuse_unreadable(live: Option<&Object>) -> Result<(), Error> {
    let Some((live, why)) = live.and_then(|live| Some((live, live.unreadable.as_ref()?))) else {
        return Ok(());
    };
    Err(Error::Unreadable {
        object: live.object_ref(),
        why: why.to_string(),
    })
}

/// Subscribes the run to an object that prevents the apply. The permissions of the role do not apply,
/// because the role does not see the object.
pub(super) async fn subscribe_to_existing(
    cluster: &Cluster,
    object: &ObjectRef,
    live: &Arc<Object>,
) -> ExistingObject {
    let read = cluster.unfenced().read(object).await;
    ExistingObject {
        live: Arc::clone(live),
        subscription: read.map_or_else(|_| Subscription::unwatched(), |read| read.subscription),
    }
}

/// Fails if the owner no longer exists. A child that disappears right after its creation was probably
/// collected with an owner that the cache still contains.
pub(super) async fn check_owner_exists(cluster: &Cluster, owner: &Owner) -> Result<(), Error> {
    let live = cluster.unfenced().get(&owner.cr).await?;
    match live {
        Some(live) if live.uid == owner.uid => Ok(()),
        _ => Err(Error::OwnerGone {
            cr: owner.cr.clone(),
        }),
    }
}
