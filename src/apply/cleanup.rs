//! Deletes children that garbage collection cannot reach.
//!
//! A namespaced custom resource cannot own, by reference, an object in another namespace or a
//! cluster-scoped object. Such a child carries annotations. Before its creation,
//! [`super::finalizer::ChildRegistrar`] adds it to the list of the custom resource, which gets the
//! cleanup finalizer. Both stay until the child no longer exists. A child that is not in the list is
//! not deleted.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::deletion_order::creation_rank;
use super::{Error, Owner, inventory, prune};
use crate::cluster::Cluster;
use crate::cluster::request::Deleted;
use crate::model::ObjectRef;

/// Deletes the children that garbage collection cannot reach, in deletion order, and returns the
/// remaining ones. The finalizer can be released when none remain.
///
/// Deletes one rank at a time. While objects of a rank are being deleted, the next rank waits for a
/// later call, which the deletion of these objects triggers.
///
/// # Assumptions
/// The caches contain all kinds of children: after a start, [`super::inventory::discover_child_kinds`]
/// comes first.
pub async fn clean_up(cluster: &Cluster, owner: &Owner) -> Result<BTreeSet<ObjectRef>, Error> {
    let mut left = inventory::unreachable_children(cluster, owner);
    left.sort_by_cached_key(|child| Reverse(creation_rank(&child.gvk)));
    let mut done = 0;
    for step in left.chunk_by(|a, b| creation_rank(&a.gvk) == creation_rank(&b.gvk)) {
        let mut going = false;
        for child in step {
            going |= child.deleting
                || matches!(prune::delete(cluster, child).await?, Deleted::Marked(_));
        }
        if going {
            break;
        }
        done += step.len();
    }
    Ok(left[done..]
        .iter()
        .map(|child| child.object_ref())
        .collect())
}
