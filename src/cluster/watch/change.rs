//! A change that a watch reports.

use std::sync::Arc;

use crate::model::Object;

/// A change that a watch reports.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// The object before; `None` if it is new.
    pub old: Option<Arc<Object>>,
    /// The object now; `None` if it was deleted.
    pub new: Option<Arc<Object>>,
}
