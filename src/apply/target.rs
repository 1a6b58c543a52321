//! Where a desired object lives, and how it can say whose it is.

use std::sync::Arc;

use super::{DesiredObject, Error, Owner};
use crate::cluster::{ApiKind, Cluster};
use crate::model::{Object, ObjectRef};

/// Where an object lives.
#[derive(Clone, Debug)]
pub(super) struct ApplyTarget {
    pub(super) kind: Arc<ApiKind>,
    pub(super) object: ObjectRef,
}

/// How an object says who owns it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ownership {
    /// It does not.
    None,
    /// By annotations alone, which prove nothing and make nothing collect it. With them our field manager
    /// owns a field at least: a server keeps no entry of a manager without fields.
    Informational,
    /// By an owner reference, which the garbage collector follows.
    Reference,
    /// By annotations, where the API allows no reference.
    Annotations,
}

impl Ownership {
    /// Returns whether it names an owner that pruning and cleanup follow.
    pub fn is_owned(self) -> bool {
        !matches!(self, Self::None | Self::Informational)
    }

    /// Returns whether garbage collection cannot reach the object from its owner.
    pub fn is_unreachable(self) -> bool {
        self == Self::Annotations
    }
}

impl ApplyTarget {
    /// Whose an object there will be. What a deletion run makes anew (no `live` one that is ours) must
    /// outlive its owner, and so has none.
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
    /// Where it lives. A namespaced object goes to the owner's namespace where it names none; a
    /// cluster-scoped one has none, whatever it names.
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
                    "{} {} needs metadata.namespace: {} has none",
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
