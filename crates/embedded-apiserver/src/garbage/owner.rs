//! Looks up the owners of an object.

use serde_json::Value;

use super::{FOREGROUND, has_finalizer, is_terminating};
use crate::builtin::path::text;
use crate::registry::Transaction;

/// The state of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum OwnerState {
    /// The owner exists.
    Present,
    /// The owner does not exist, or another object has its name.
    Absent,
    /// The owner is terminating and waits for its dependents.
    Waiting,
}

/// Returns the state of each owner, or nothing if a state is unknown: for a kind that the server does not
/// serve, or a namespaced owner of a cluster-scoped object. The collector does not touch such objects.
pub(super) fn owner_states(
    tx: &Transaction<'_>,
    namespace: &str,
    owners: &[Value],
) -> Option<Vec<OwnerState>> {
    owners
        .iter()
        .map(|owner| standing(tx, namespace, owner))
        .collect()
}

fn standing(tx: &Transaction<'_>, namespace: &str, owner: &Value) -> Option<OwnerState> {
    let api_version = text(owner, &["apiVersion"]);
    let resource = tx.resource_of_kind(api_version, text(owner, &["kind"]))?;
    if resource.namespaced && namespace.is_empty() {
        return None;
    }
    let namespace = if resource.namespaced { namespace } else { "" };
    let found = tx.get(resource.storage(), namespace, text(owner, &["name"]));
    let same = |live: &Value| text(live, &["metadata", "uid"]) == text(owner, &["uid"]);
    let Some(live) = found.filter(|live| same(live)) else {
        return Some(OwnerState::Absent);
    };
    if is_terminating(&live) && has_finalizer(&live, FOREGROUND) {
        return Some(OwnerState::Waiting);
    }
    Some(OwnerState::Present)
}
