//! What has become of the owners that an object names.

use serde_json::Value;

use super::{FOREGROUND, has_finalizer, is_terminating};
use crate::builtin::path::text;
use crate::registry::Transaction;

/// What has become of an owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Standing {
    /// It is there.
    Solid,
    /// It is not there, or another has its name.
    Absent,
    /// It is being deleted and waits for its dependents.
    Waiting,
}

/// Of each owner; none if that cannot be told: a kind that nobody serves, or a namespaced owner of a
/// cluster-scoped object. Such objects are left alone.
pub(super) fn standings(
    tx: &Transaction<'_>,
    namespace: &str,
    owners: &[Value],
) -> Option<Vec<Standing>> {
    owners
        .iter()
        .map(|owner| standing(tx, namespace, owner))
        .collect()
}

fn standing(tx: &Transaction<'_>, namespace: &str, owner: &Value) -> Option<Standing> {
    let api_version = text(owner, &["apiVersion"]);
    let resource = tx.resource_of_kind(api_version, text(owner, &["kind"]))?;
    if resource.namespaced && namespace.is_empty() {
        return None;
    }
    let namespace = if resource.namespaced { namespace } else { "" };
    let found = tx.get(resource.storage(), namespace, text(owner, &["name"]));
    let same = |live: &Value| text(live, &["metadata", "uid"]) == text(owner, &["uid"]);
    let Some(live) = found.filter(|live| same(live)) else {
        return Some(Standing::Absent);
    };
    if is_terminating(&live) && has_finalizer(&live, FOREGROUND) {
        return Some(Standing::Waiting);
    }
    Some(Standing::Solid)
}
