//! The selection of a watch.

use std::sync::Arc;

use crate::model::Gvk;
use crate::model::selector::LabelSelector;

/// The objects that a watch selects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchSpec {
    /// The kind.
    pub gvk: Gvk,
    /// The namespace; `None` for all.
    pub namespace: Option<Arc<str>>,
    /// Labels that the objects must have.
    pub labels: LabelSelector,
    /// The part of each object that the cache keeps.
    pub content: Content,
    /// The use of the watch.
    pub purpose: Purpose,
}

/// The part of an object that a watch keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// The whole object.
    Full,
    /// Name, uid, versions and labels: the objects have an empty body.
    Metadata,
}

/// The purpose of a watch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Custom resources to reconcile.
    Primary,
    /// Objects that carry the owner label.
    Children,
    /// Objects that runs read.
    Reference,
}

impl WatchSpec {
    /// Returns whether the watch can select an object of its kind in this namespace.
    pub(super) fn covers(&self, namespace: Option<&str>) -> bool {
        self.namespace.is_none() || self.namespace.as_deref() == namespace
    }
}
