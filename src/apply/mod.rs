//! Applies child objects: server-side apply, ownership, pruning, cleanup, diffs.
//!
//! Reading order: [`apply`] (the protocol), [`owner`], [`options`], [`desired`] (the object to send),
//! `last_applied` (when no request is sent), `server_side` (the steps), [`prune`], [`cleanup`],
//! [`inventory`], [`orphaned_finalizers`], [`diff`].

pub(crate) mod apply_cache;
mod child_list;
mod claim;
pub mod cleanup;
mod conflict;
pub mod create_once;
mod deletion_order;
pub(crate) mod desired;
pub(crate) mod diff;
pub(crate) mod error;
pub mod finalizer;
mod initial_create;
pub mod inventory;
mod last_applied;
mod live;
pub(crate) mod options;
pub(crate) mod orphaned_finalizers;
pub(crate) mod owner;
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

/// Applies an object that a role wants, without a request if nothing would change.
///
/// # Flow
/// 1. The kind determines the target. The owner determines the ownership: by reference, by annotations
///    where the API allows no reference, or none.
/// 2. The live object comes from the cache of children, which is started on first use, or from the
///    server.
/// 3. If the desired object is that of the last apply, and the live object did not change, or only in
///    fields of other managers: no request is sent. After a restart, managed fields and live values are
///    compared instead.
/// 4. Otherwise the operator sends a server-side apply, forced or not, or a create if the child does
///    not exist. Before that, an object of another owner is refused, a custom resource that may no
///    longer exist is read, and a custom resource whose child garbage collection cannot reach gets the
///    cleanup finalizer.
/// 5. The answer is stored in the caches and as the last apply.
///
/// # Guarantees
/// - An apply that is skipped would have changed nothing.
/// - A field that the role no longer sets is removed, unless another manager owns it too.
/// - An object of another controller is never changed without `adopt`.
///
/// # Caveats
/// - An adopted object without a controller is taken over, including its fields if the apply is forced;
///   see [`ApplyResult::adopted`].
/// - An object that a deletion run creates has no owner. An object that it changes keeps its owner.
/// - A value that the server normalizes causes one apply without effect after a restart.
/// - An object that is being deleted is applied too, so that a role can remove a finalizer, but it gets
///   no new finalizer. The run that its deletion triggers creates it again.
///
/// # Errors
/// The server stored no change, except for [`Error::Recreating`]: the object was deleted.
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
