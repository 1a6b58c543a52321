//! What has happened to an object.

use std::sync::Arc;

use serde_json::Value;

use super::Key;
use crate::resource::Resource;

/// One committed write.
#[derive(Debug)]
pub struct Event {
    /// The store's revision after it.
    pub revision: u64,
    /// What it did.
    pub change: Change,
    /// The resource that was written.
    pub resource: Arc<Resource>,
    /// Which object.
    pub key: Key,
    /// The object after it; of a deletion its last state.
    pub object: Arc<Value>,
    /// The object before it.
    pub previous: Option<Arc<Value>>,
}

/// What a write did to an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// It was not there before.
    Added,
    /// It was there before.
    Modified,
    /// It is there no more.
    Deleted,
}

impl Change {
    /// As a watch writes it.
    pub fn text(self) -> &'static str {
        match self {
            Self::Added => "ADDED",
            Self::Modified => "MODIFIED",
            Self::Deleted => "DELETED",
        }
    }
}
