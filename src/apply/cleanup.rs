//! Deleting the children that garbage collection does not reach.
//!
//! A namespaced custom resource cannot be the owner, by reference, of an object in another namespace
//! or of a cluster-scoped one. Such a child carries annotations, and its custom resource lists it and has
//! the cleanup finalizer from before the child is made ([`super::finalizer::ChildRegistrar`]) until after it is
//! gone. What is not listed is not deleted.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use super::deletion_order::creation_rank;
use super::{Error, Owner, inventory, prune};
use crate::cluster::Cluster;
use crate::cluster::request::Deleted;
use crate::model::ObjectRef;

/// Deletes the children that garbage collection does not reach, last things first; what is left of
/// them. Once that is nothing, the finalizer can go.
///
/// One rank of the order is taken down at a time; while something of it is still going, the next one
/// waits for a later call, which is due when what is left changes.
///
/// # Assumptions
/// The caches hold all kinds of children: after a start, [`inventory::sweep`] has to come first.
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
