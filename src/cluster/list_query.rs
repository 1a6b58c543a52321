//! The selection of a list.

use std::sync::Arc;

use crate::model::Gvk;
use crate::model::field_selector::FieldSelector;
use crate::model::selector::LabelSelector;

/// A selection of objects.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ListQuery {
    /// The kind.
    pub gvk: Gvk,
    /// The namespace; `None` for all.
    pub namespace: Option<Arc<str>>,
    /// Labels that the objects must have.
    pub labels: LabelSelector,
    /// Fields that the objects must have.
    pub fields: FieldSelector,
}
