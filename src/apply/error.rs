//! Why something was not applied.

use std::sync::Arc;

use crate::cluster;
use crate::cluster::watch::Subscription;
use crate::model::{Object, ObjectRef};

/// An object that exists where another one is wanted.
#[derive(Clone, Debug)]
pub struct ExistingObject {
    /// The object as the server has it.
    pub live: Arc<Object>,
    /// Keeps the watch open that reports the object's changes.
    pub subscription: Subscription,
}

/// Why something was not applied, pruned or cleaned up.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The desired object makes no sense; nothing was sent.
    #[error("{0}")]
    InvalidObject(String),
    /// The cluster does not serve the kind (yet).
    #[error("the cluster has no kind {} in {}", object.gvk.kind, object.gvk.api_version())]
    KindAbsent {
        /// What was to be applied.
        object: ObjectRef,
    },
    /// The object that is there cannot be read.
    #[error("cannot read {object}: {why}")]
    Unreadable {
        /// What was to be applied.
        object: ObjectRef,
        /// The part that cannot be read, and the reason.
        why: String,
    },
    /// The object exists and the custom resource does not own it.
    #[error(
        "cannot apply {}: it exists and {cr} does not own it, {holder}; \
         hint: set `adopt: true` to take it over",
        existing.live.object_ref()
    )]
    NotOwned {
        /// The custom resource.
        cr: ObjectRef,
        /// The owner of the object, in words.
        holder: String,
        /// The object that is in the way.
        existing: ExistingObject,
    },
    /// An earlier custom resource of the same name owned the object; garbage collection removes it.
    #[error(
        "{} belongs to an earlier {cr} and is being removed by garbage collection",
        existing.live.object_ref()
    )]
    Former {
        /// The custom resource.
        cr: ObjectRef,
        /// The object that is in the way.
        existing: ExistingObject,
    },
    /// A field that cannot be changed would change.
    #[error("{error}; `recreate: true` deletes the object and makes it anew")]
    Immutable {
        /// What the server said.
        error: cluster::Error,
    },
    /// The server lets a child name its owner only for who may set the owner's finalizers.
    #[error("{error}; the operator cannot update resource \"{resource}\"")]
    OwnerFinalizers {
        /// What the server said.
        error: cluster::Error,
        /// The subresource that the right to `update` is missing on: `widgets/finalizers`.
        resource: String,
    },
    /// The object has to be gone before it can be made anew.
    #[error("{object} is being deleted, to be made anew")]
    Recreating {
        /// What was to be applied.
        object: ObjectRef,
    },
    /// The custom resource lists all the children that fit.
    #[error(
        "cannot list {object} on {cr}: the list of children that owner references cannot reach is full; \
         hint: use fewer objects in other namespaces or without a namespace"
    )]
    ListFull {
        /// The custom resource.
        cr: ObjectRef,
        /// What was to be applied.
        object: ObjectRef,
    },
    /// The custom resource is not the one that this run is for: it is gone, or was made anew.
    #[error("{cr} is gone")]
    OwnerGone {
        /// The custom resource.
        cr: ObjectRef,
    },
    /// A request failed.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
}
