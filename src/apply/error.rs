//! Why something was not applied.

use crate::cluster;
use crate::model::ObjectRef;

/// Why something was not applied, pruned or cleaned up.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The desired object makes no sense; nothing was sent.
    #[error("{0}")]
    Desired(String),
    /// The cluster does not serve the kind (yet).
    #[error("the cluster has no kind {} in {}", object.gvk.kind, object.gvk.api_version())]
    KindAbsent {
        /// What was to be applied.
        object: ObjectRef,
    },
    /// The object has another controller.
    #[error("{object} is controlled by {controller}; `adopt: true` takes it over")]
    Controlled {
        /// What was to be applied.
        object: ObjectRef,
        /// Kind and name of its controller.
        controller: String,
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
