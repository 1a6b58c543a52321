//! Events of writes.

use std::sync::Arc;

use serde_json::Value;

use super::Key;
use crate::resource::Resource;

/// A committed write.
#[derive(Debug)]
pub struct Event {
    /// The revision of the store after the write.
    pub revision: u64,
    /// The kind of the change.
    pub change: Change,
    /// The resource that was written.
    pub resource: Arc<Resource>,
    /// The key of the object.
    pub key: Key,
    /// The object after the write. For a deletion, its last state.
    pub object: Arc<Value>,
    /// The object before the write.
    pub previous: Option<Arc<Value>>,
}

/// The kind of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The write created the object.
    Added,
    /// The write updated the object.
    Modified,
    /// The write deleted the object.
    Deleted,
}

impl Change {
    /// Returns the type of the watch event.
    pub fn text(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}
