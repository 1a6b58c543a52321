//! Deletes children that garbage collection cannot reach.
//!
//! An owner reference from an object in another namespace, or from a cluster-scoped object, to a
//! namespaced custom resource is invalid. Such a child has annotations that name its owner instead.
//! Before the child is created, [`super::finalizer::ChildRegistrar`] adds it to the list in the custom
//! resource, and adds the cleanup finalizer to the custom resource. Both stay until the child no longer
//! exists. A child that is not in the list is not deleted.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::deletion_order::creation_rank;
use super::{Error, Owner, inventory, prune};
use crate::cluster::Cluster;
use crate::cluster::request::DeleteResult;
use crate::model::ObjectRef;

/// Deletes the children that garbage collection cannot reach, in deletion order, and returns the
/// remaining ones. The finalizer can be released when none remain.
///
/// Each call deletes one rank after the other, and stops at a rank whose objects are still terminating.
/// When they are gone, their deletion triggers another run, which calls this function again.
///
/// # Assumptions
/// The caches contain all kinds of children. After a start of the operator,
/// [`super::inventory::discover_child_kinds`] has run before.
pub async fn clean_up(cluster: &Cluster, owner: &Owner) -> Result<BTreeSet<ObjectRef>, Error> {
    let mut left = inventory::unreachable_children(cluster, owner);
    left.sort_by_cached_key(|child| Reverse(creation_rank(&child.gvk)));
    let mut done = 0;
    for step in left.chunk_by(|a, b| creation_rank(&a.gvk) == creation_rank(&b.gvk)) {
        let mut going = false;
        for child in step {
            going |= child.deleting
                || matches!(
                    prune::delete(cluster, child).await?,
                    DeleteResult::Marked(_)
                );
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
