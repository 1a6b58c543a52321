//! For whom something is applied: the custom resource of a run.

use std::sync::Arc;

use super::ChildList;
use super::finalizer::ChildRegistrar;
use crate::model::owner::{OwnerReference, field_manager};
use crate::model::{Object, ObjectRef};

/// The custom resource of a run, as what it applies will know it.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The custom resource.
    pub cr: ObjectRef,
    /// Its uid, empty where no cluster holds it.
    pub uid: Box<str>,
    /// The field manager of all its writes.
    pub manager: Box<str>,
    /// The watch's word on taking fields from other managers; `None`: from children that it owns.
    pub force: Option<bool>,
    /// The watch's word on taking over existing objects that the custom resource does not own.
    pub adopt: bool,
    /// Whether this is a deletion run: what it makes anew must outlive the custom resource.
    pub finalizing: bool,
    /// The children that owner references cannot reach, as the custom resource listed them.
    pub listed_children: Arc<ChildList>,
    /// Lists a child that owner references cannot reach before it is made; `None` in a dry run and where
    /// nothing can own anything.
    pub registrar: Option<Arc<ChildRegistrar>>,
}

impl Owner {
    /// Of a custom resource. Without a uid, what is applied gets no owner.
    pub fn new(cr: &Object) -> Self {
        let reference = cr.object_ref();
        Self {
            manager: field_manager(&reference).into(),
            cr: reference,
            uid: cr.uid.clone(),
            force: None,
            adopt: false,
            finalizing: false,
            listed_children: Arc::new(ChildList::read_from(cr)),
            registrar: None,
        }
    }

    /// Returns whether the cluster holds the custom resource, so that it can own anything.
    pub fn is_live(&self) -> bool {
        !self.uid.is_empty()
    }

    /// Returns whether the API lets it own an object of that namespace (`None`: a cluster-scoped one).
    pub(super) fn can_be_referenced_from(&self, namespace: Option<&str>) -> bool {
        self.cr.namespace.is_none() || self.cr.namespace.as_deref() == namespace
    }

    /// The entry in the owner references of its children.
    pub(super) fn reference(&self) -> OwnerReference {
        OwnerReference {
            api_version: self.cr.gvk.api_version(),
            kind: self.cr.gvk.kind.to_string(),
            name: self.cr.name.to_string(),
            uid: self.uid.to_string(),
            controller: true,
            block_owner_deletion: true,
        }
    }

    /// `namespace/name`, for the annotation of children that cannot refer to it.
    pub(super) fn namespaced_name(&self) -> String {
        match &self.cr.namespace {
            Some(namespace) => format!("{namespace}/{}", self.cr.name),
            None => self.cr.name.to_string(),
        }
    }
}
