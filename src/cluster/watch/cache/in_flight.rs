//! Own writes without an answer.

use std::sync::Arc;

use crate::cluster::watch::change::ObjectChange;
use crate::model::Object;

/// The answer to a write of ours.
pub(in crate::cluster) enum WriteResult {
    /// The object as it now is; `own` unless the write changed nothing.
    Object {
        /// The object in the server's answer.
        object: Arc<Object>,
        /// True if this process made this version.
        own: bool,
    },
    /// The object of this uid is gone.
    Deleted(Box<str>),
    /// The object has this version now; a subresource answers with no more.
    Version(Box<str>),
    /// None came, or a refusal.
    Nothing,
}

/// Writes of ours that have no answer yet.
#[derive(Default)]
pub(super) struct InFlightWrites {
    pub(super) writers: u32,
    pub(super) deferred: Vec<DeferredChange>,
    pub(super) own: Vec<Box<str>>,
    pub(super) deleted: Vec<Box<str>>,
}

/// A change that is not reported before the response to a pending write is known.
pub(super) struct DeferredChange {
    pub(super) change: ObjectChange,
    /// True if a relist may have skipped foreign changes. The change is then reported for each response.
    pub(super) skipped: bool,
}
