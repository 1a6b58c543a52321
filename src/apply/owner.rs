//! The owner of applied objects: the custom resource of a run.

use std::sync::Arc;

use super::ChildList;
use super::finalizer::ChildRegistrar;
use crate::model::owner::{OwnerReference, field_manager};
use crate::model::{Object, ObjectRef};

/// The custom resource of a run as owner of children.
#[derive(Clone, Debug)]
pub struct Owner {
    /// The custom resource.
    pub cr: ObjectRef,
    /// The uid; empty if no cluster contains the custom resource.
    pub uid: Box<str>,
    /// The field manager of all writes for the custom resource.
    pub manager: Box<str>,
    /// The watch's setting for taking fields from other managers. `None` takes them from owned
    /// children.
    pub force: Option<bool>,
    /// The watch's setting for adopting existing objects that the custom resource does not own.
    pub adopt: bool,
    /// True in a deletion run. The objects that it creates must outlive the custom resource.
    pub finalizing: bool,
    /// The children that owner references cannot reach, from the list of the custom resource.
    pub listed_children: Arc<ChildList>,
    /// Adds a child that owner references cannot reach to the list before its creation; `None` in a
    /// plan and if the custom resource can own nothing.
    pub registrar: Option<Arc<ChildRegistrar>>,
}

impl Owner {
    /// Creates the owner for a custom resource. Without a uid, applied objects get no owner.
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

    /// Returns whether the cluster contains the custom resource, so that it can own objects.
    pub fn is_live(&self) -> bool {
        !self.uid.is_empty()
    }

    /// Returns whether the API accepts an owner reference from an object of that namespace (`None`
    /// for a cluster-scoped object).
    pub(super) fn can_be_referenced_from(&self, namespace: Option<&str>) -> bool {
        self.cr.namespace.is_none() || self.cr.namespace.as_deref() == namespace
    }

    /// Returns the owner reference for children.
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

    /// Returns `namespace/name` for the annotation of children that cannot refer to the custom
    /// resource.
    pub(super) fn namespaced_name(&self) -> String {
        match &self.cr.namespace {
            Some(namespace) => format!("{namespace}/{}", self.cr.name),
            None => self.cr.name.to_string(),
        }
    }
}
