//! Deletes children that the role no longer applies.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::deletion_order::creation_rank;
use super::{Error, Owner, finalizer, inventory};
use crate::cluster::request::{DeleteOptions, DeleteResult};
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::annotations::PRUNE_LABEL;
use crate::model::{Gvk, Object, ObjectRef};

/// The result of a prune.
#[derive(Debug, Default)]
pub struct PruneResult {
    /// The deleted children, as they were before.
    pub deleted: Vec<Arc<Object>>,
    /// The children that could not be deleted, with the error.
    pub failed: Vec<(ObjectRef, Error)>,
}

/// Deletes the children of a custom resource that a run did not apply. Sends no request if there are
/// none.
///
/// # Assumptions
/// The run completed and each of its applies succeeded, so that `kept` contains all objects that the
/// role wants. The caches of children are filled, including the caches of kinds that the role applied
/// in the past only ([`inventory::discover_child_kinds`]).
///
/// # Guarantees
/// Skips objects that are already being deleted, and objects with the label `rhai.operator/prune: never`.
/// Deletes by uid: if an object was replaced by one of the same name, the new one stays.
pub async fn prune(cluster: &Cluster, owner: &Owner, kept: &BTreeSet<ObjectRef>) -> PruneResult {
    let mut pruned = PruneResult::default();
    if !owner.is_live() || owner.finalizing {
        return pruned;
    }
    let mut surplus = inventory::children(cluster, owner);
    surplus.retain(|child| {
        !child.deleting && child.label(PRUNE_LABEL) != Some("never") && !is_kept(kept, child)
    });
    surplus.sort_by_cached_key(|child| Reverse(creation_rank(&child.gvk)));
    for child in surplus {
        match delete(cluster, &child).await {
            Ok(DeleteResult::Gone | DeleteResult::Marked(_)) => pruned.deleted.push(child),
            Ok(DeleteResult::Absent) => {}
            Err(error) => pruned.failed.push((child.object_ref(), error)),
        }
    }
    pruned
}

/// Returns whether a run applied the object, in any version of its kind.
fn is_kept(kept: &BTreeSet<ObjectRef>, child: &Object) -> bool {
    let same = |kept: &ObjectRef, gvk: &Gvk| {
        kept.name == child.name && kept.namespace == child.namespace && kept.gvk.same_kind(gvk)
    };
    kept.contains(&child.object_ref()) || kept.iter().any(|kept| same(kept, &child.gvk))
}

/// Removes children from the list of the custom resource that neither exist nor were applied in this
/// run. Returns the changed custom resource; `None` if it no longer exists.
///
/// # Assumptions
/// As for [`prune`].
pub async fn update_child_list(
    cluster: &Cluster,
    owner: &Owner,
    cr: &Arc<Object>,
    kept: &BTreeSet<ObjectRef>,
) -> Result<Option<Arc<Object>>, cluster::Error> {
    let mut kept = kept.clone();
    kept.extend(
        inventory::unreachable_children(cluster, owner)
            .iter()
            .map(|child| child.object_ref()),
    );
    finalizer::retain_children(cluster, cr, &kept).await
}

/// Deletes this object. Another object of the same name counts as absent.
pub(super) async fn delete(cluster: &Cluster, child: &Object) -> Result<DeleteResult, Error> {
    let options = DeleteOptions {
        uid: Some(child.uid.to_string()),
        ..DeleteOptions::default()
    };
    match cluster.delete(&child.object_ref(), &options).await {
        Err(error) if error.kind == ErrorKind::Conflict => Ok(DeleteResult::Absent),
        answer => Ok(answer?),
    }
}
