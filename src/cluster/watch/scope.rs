//! The scope of a subscription.

use std::sync::Arc;

use super::spec::{Content, Purpose, WatchSpec};
use crate::model::Gvk;
use crate::model::selector::LabelSelector;

/// A kind in one namespace, or in all.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Scope {
    /// The kind.
    pub gvk: Gvk,
    /// The namespace; `None` for all, and for cluster-scoped kinds.
    pub namespace: Option<Arc<str>>,
}

impl Scope {
    /// Returns the watch that serves the scope alone.
    pub(super) fn spec(&self) -> WatchSpec {
        WatchSpec {
            gvk: self.gvk.clone(),
            namespace: self.namespace.clone(),
            labels: LabelSelector::default(),
            content: Content::Metadata,
            purpose: Purpose::Reference,
        }
    }
}
