//! The names of custom resources in the queue.

use std::sync::Arc;

/// A kind within the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct KindId(pub(super) usize);

/// A queued custom resource.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    /// The kind.
    pub kind: KindId,
    /// The namespace; `None` for a cluster-scoped object.
    pub namespace: Option<Arc<str>>,
    /// The name.
    pub name: Arc<str>,
}
