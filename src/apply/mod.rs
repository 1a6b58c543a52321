//! Making children so: server-side apply, ownership, pruning, cleaning up, and the difference.
//!
//! Reading order: [`apply`] (here: the protocol), [`owner`] and [`options`] (for whom and how),
//! [`desired`] (what is sent), `memo` (when nothing is), `server_side` (the steps), [`prune`],
//! [`cleanup`], [`inventory`], [`held`], [`diff`].

pub mod apply_cache;
mod child_list;
mod claim;
pub mod cleanup;
mod conflict;
pub mod create_once;
mod deletion_order;
pub mod desired;
pub mod diff;
pub mod error;
pub mod finalizer;
mod initial_create;
pub mod inventory;
mod last_applied;
pub mod options;
pub mod orphaned_finalizers;
pub mod owner;
pub mod prune;
mod pruned_fields;
mod server_side;
mod target;

#[cfg(test)]
mod tests;

pub use self::apply_cache::ApplyCache;
pub use self::child_list::ChildList;
pub use self::claim::Claim;
pub use self::desired::DesiredObject;
pub use self::error::{Error, ExistingObject};
pub use self::options::{Action, ActionCounts, ApplyResult, Options};
pub use self::owner::Owner;
pub use self::pruned_fields::unknown_field;
pub use self::target::Ownership;
use crate::cluster::Cluster;

/// Makes an object as a role wants it, with no request where it is so already.
///
/// # Flow
/// 1. The kind tells where the object lives, the owner how it is owned: by a reference, by
///    annotations where the API allows none, or not at all.
/// 2. The live object is taken from the cache of children (started and filled on first use), or read.
/// 3. If the memo of the last apply speaks of the same desired object and the live one has not moved,
///    or moved only in what others own: skipped. Without a memo (after a restart) managed fields and
///    live values are compared instead.
/// 4. Else a server-side apply is sent, forced or not. Before that an object of another owner is
///    refused, a custom resource that may be gone is looked up, and one whose child garbage collection
///    will not reach gets the cleanup finalizer. A child that is known to be absent is created instead.
/// 5. The answer goes to the caches (by the cluster) and into the memo.
///
/// # Guarantees
/// - What is skipped would have changed nothing.
/// - A field that the role no longer has goes, unless another manager owns it too.
/// - An object of another controller is never changed without `adopt`.
///
/// # Caveats
/// - An object that nobody controls is taken over, its fields included where the apply is forced;
///   [`Applied::adopted`] tells.
/// - What a deletion run makes anew has no owner; what it changes keeps the one that it has.
/// - A value that the server normalises costs one apply without effect after a restart.
/// - An object that is being deleted is applied to all the same (a role may let go of a finalizer
///   so), but gets no finalizer back; it is made anew when it is gone, by the run that its end causes.
///
/// # Errors
/// Nothing was changed, but for [`Error::Recreating`]: the object was deleted.
pub async fn apply(
    cluster: &Cluster,
    cache: &ApplyCache,
    owner: &Owner,
    desired: &DesiredObject,
    options: Options,
) -> Result<ApplyResult, Error> {
    server_side::ServerSideApply::prepare(cluster, cache, owner, desired, options)
        .await?
        .run()
        .await
}
