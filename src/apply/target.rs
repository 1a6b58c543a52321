//! The target of an apply, and the way in which it names its owner.

use std::sync::Arc;

use super::{DesiredObject, Error, Owner};
use crate::cluster::{ApiKind, Cluster};
use crate::model::{Object, ObjectRef};

/// The kind and the address of an object to apply.
#[derive(Clone, Debug)]
pub(super) struct ApplyTarget {
    pub(super) kind: Arc<ApiKind>,
    pub(super) object: ObjectRef,
}

/// The way in which an object names its owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// No owner.
    None,
    /// Annotations without a claim: they prove nothing, and nothing collects the object. They make
    /// our field manager own at least one field, because a server keeps no entry of a manager
    /// without fields.
    Informational,
    /// An owner reference, which the garbage collector follows.
    Reference,
    /// Annotations, where the API allows no owner reference.
    Annotations,
}

impl Ownership {
    /// Returns whether pruning and cleanup include the object.
    pub fn is_owned(self) -> bool {
        !matches!(self, Self::None | Self::Informational)
    }

    /// Returns whether garbage collection cannot reach the object from its owner.
    pub fn is_unreachable(self) -> bool {
        self == Self::Annotations
    }
}

impl ApplyTarget {
    /// Returns the ownership of the object after the apply. An object that a deletion run creates
    /// has no owner, because it must outlive the custom resource.
    pub(super) fn ownership(
        &self,
        owner: &Owner,
        wanted: bool,
        live: Option<&Object>,
    ) -> Ownership {
        let ours = live.is_some_and(|live| live.owner_uid() == Some(&*owner.uid));
        if !wanted {
            Ownership::None
        } else if !owner.is_live() || (owner.finalizing && !ours) {
            Ownership::Informational
        } else if owner.can_be_referenced_from(self.object.namespace.as_deref()) {
            Ownership::Reference
        } else {
            Ownership::Annotations
        }
    }
}

impl DesiredObject {
    /// Resolves the target. A namespaced object without a namespace goes to the namespace of the
    /// owner. The namespace of a cluster-scoped object is ignored.
    pub(super) async fn resolve_target(
        &self,
        cluster: &Cluster,
        owner: &Owner,
    ) -> Result<ApplyTarget, Error> {
        let kind = cluster.kind(&self.gvk).await?;
        let absent = || Error::KindAbsent {
            object: ObjectRef::new(self.gvk.clone(), self.namespace.as_deref(), &self.name),
        };
        self.target_of_kind(kind.ok_or_else(absent)?, owner)
    }

    pub(super) fn target_of_kind(
        &self,
        kind: Arc<ApiKind>,
        owner: &Owner,
    ) -> Result<ApplyTarget, Error> {
        let namespace = match (&self.namespace, &owner.cr.namespace) {
            _ if !kind.namespaced => None,
            (Some(namespace), _) | (None, Some(namespace)) => Some(Arc::clone(namespace)),
            (None, None) => {
                return Err(Error::InvalidObject(format!(
                    "{} {}: expected metadata.namespace, because {} has no namespace",
                    self.gvk.kind, self.name, owner.cr
                )));
            }
        };
        Ok(ApplyTarget {
            kind,
            object: ObjectRef {
                gvk: self.gvk.clone(),
                namespace,
                name: Arc::clone(&self.name),
            },
        })
    }
}
