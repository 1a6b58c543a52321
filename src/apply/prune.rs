//! Deleting what the role no longer applies.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::sync::Arc;

use super::deletion_order::creation_rank;
use super::{Error, Owner, finalizer, inventory};
use crate::cluster::request::{DeleteOptions, Deleted};
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::annotations::PRUNE_LABEL;
use crate::model::{Gvk, Object, ObjectRef};

/// What pruning did.
#[derive(Debug, Default)]
pub struct PruneResult {
    /// What was deleted, as it was.
    pub deleted: Vec<Arc<Object>>,
    /// What could not be, and why.
    pub failed: Vec<(ObjectRef, Error)>,
}

/// Deletes the children of a custom resource that a run did not apply; no request if there are none.
///
/// # Assumptions
/// The run completed and every apply of it succeeded: `kept` is all that shall exist. The caches of
/// children are filled ([`inventory::sweep`] sees to kinds that no role applies any more).
///
/// # Guarantees
/// Left alone is what is being deleted already, what carries the label `rhai.operator/prune: never`,
/// and what was made anew under its name since the cache was looked at.
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
            Ok(Deleted::Gone | Deleted::Marked(_)) => pruned.deleted.push(child),
            Ok(Deleted::Absent) => {}
            Err(error) => pruned.failed.push((child.object_ref(), error)),
        }
    }
    pruned
}

/// Returns whether a run applied the object, in whatever version of its kind.
fn is_kept(kept: &BTreeSet<ObjectRef>, child: &Object) -> bool {
    let same = |kept: &ObjectRef, gvk: &Gvk| {
        kept.name == child.name && kept.namespace == child.namespace && kept.gvk.same_kind(gvk)
    };
    kept.contains(&child.object_ref()) || kept.iter().any(|kept| same(kept, &child.gvk))
}

/// Takes from the custom resource's list the children that owner references cannot reach and that are
/// neither applied any more nor there; the custom resource as it then is, `None` when it is gone.
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

/// Deletes this very object; one of the same name that is another counts as its absence.
pub(super) async fn delete(cluster: &Cluster, child: &Object) -> Result<Deleted, Error> {
    let options = DeleteOptions {
        uid: Some(child.uid.to_string()),
        ..DeleteOptions::default()
    };
    match cluster.delete(&child.object_ref(), &options).await {
        Err(error) if error.kind == ErrorKind::Conflict => Ok(Deleted::Absent),
        answer => Ok(answer?),
    }
}
