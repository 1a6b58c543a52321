//! The writes of this process that a watch has not reported yet.

use std::sync::Arc;

use crate::model::Object;

/// The writes of this process to one object that the watch has not reported yet.
#[derive(Default)]
pub(super) struct PendingEcho {
    /// The object as the watch last showed it.
    pub(super) base: Option<Arc<Object>>,
    /// Versions of our making that it has yet to show.
    pub(super) own: Vec<Box<str>>,
    /// Uids of what we deleted, whose end it has yet to show.
    pub(super) deleted: Vec<Box<str>>,
}

impl PendingEcho {
    pub(super) fn after(base: Option<Arc<Object>>) -> Self {
        Self {
            base,
            ..Self::default()
        }
    }

    pub(super) fn has_version(&self, version: &str) -> bool {
        self.own.iter().any(|own| **own == *version)
    }

    pub(super) fn deletes(&self, uid: &str) -> bool {
        self.deleted.iter().any(|deleted| **deleted == *uid)
    }

    pub(super) fn is_settled(&self) -> bool {
        self.own.is_empty() && self.deleted.is_empty()
    }
}
