//! Errors of applies, prunes and cleanups.

use std::sync::Arc;

use crate::cluster;
use crate::cluster::watch::Subscription;
use crate::model::{Object, ObjectRef};

/// An existing object that prevents an apply.
#[derive(Clone, Debug)]
pub struct ExistingObject {
    /// The live object.
    pub live: Arc<Object>,
    /// Keeps the watch open that reports the object's changes.
    pub subscription: Subscription,
}

/// An error of an apply, a prune or a cleanup.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The desired object is invalid; no request was sent.
    #[error("{0}")]
    InvalidObject(String),
    /// The cluster does not serve the kind.
    #[error("the cluster has no kind {} in {}", object.gvk.kind, object.gvk.api_version())]
    KindAbsent {
        /// The object to apply.
        object: ObjectRef,
    },
    /// The live object cannot be read.
    #[error("cannot read {object}: {why}")]
    Unreadable {
        /// The object to apply.
        object: ObjectRef,
        /// The unreadable part and the reason.
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
        /// Description of the owner of the object.
        holder: String,
        /// The existing object.
        existing: ExistingObject,
    },
    /// An earlier custom resource of the same name owned the object. Garbage collection removes it.
    #[error(
        "{} belongs to an earlier {cr} and is being removed by garbage collection",
        existing.live.object_ref()
    )]
    Former {
        /// The custom resource.
        cr: ObjectRef,
        /// The existing object.
        existing: ExistingObject,
    },
    /// The apply would change an immutable field.
    #[error(
        "{error}; hint: restore the field, or set `recreate: true`, which deletes the object with its data and \
         creates it again"
    )]
    Immutable {
        /// The answer of the server.
        error: cluster::Error,
    },
    /// The operator is not allowed to set a blocking owner reference, which requires a permission on the
    /// owner's finalizers.
    #[error("{error}; the operator cannot update resource \"{resource}\"")]
    OwnerFinalizers {
        /// The answer of the server.
        error: cluster::Error,
        /// The subresource that requires the verb `update`: `widgets/finalizers`.
        resource: String,
    },
    /// The object is being deleted and will be created again.
    #[error("{object} is being deleted and will be created again")]
    Recreating {
        /// The object to apply.
        object: ObjectRef,
    },
    /// The list of the custom resource is full.
    #[error(
        "cannot list {object} on {cr}: the list of children that owner references cannot reach is full; \
         hint: use fewer objects in other namespaces or without a namespace"
    )]
    ListFull {
        /// The custom resource.
        cr: ObjectRef,
        /// The object to apply.
        object: ObjectRef,
    },
    /// The custom resource of this run no longer exists, or another one has its name.
    #[error("{cr} no longer exists")]
    OwnerGone {
        /// The custom resource.
        cr: ObjectRef,
    },
    /// A request failed.
    #[error(transparent)]
    Cluster(#[from] cluster::Error),
}
