//! Sets and releases finalizers, and selects the program of a deletion run.

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;

use super::{Context, Input};
use crate::apply::finalizer::{self, own_finalizers};
use crate::cluster::{self, Cluster};
use crate::model::annotations::CLEANUP_FINALIZER;
use crate::model::{Object, Outcome};
use crate::role::{Entry, Role};
use crate::watches::{Finalizer, FinalizerFailure};

/// Adds the watch's finalizer to a custom resource before its first run, and releases finalizers of
/// ours that no watch asks for. Returns `None` if the custom resource no longer exists.
pub(super) async fn update(
    context: &Context,
    input: &Input,
) -> Result<Option<Arc<Object>>, cluster::Error> {
    let wanted = input
        .watch
        .finalizer
        .as_ref()
        .map(|finalizer| &*finalizer.name);
    let holder = context.holder.as_ref();
    finalizer::update_finalizers(&context.cluster, &input.cr, holder, |current, before| {
        let stale: Vec<String> = own_finalizers(current)
            .into_iter()
            .filter(|name| Some(&**name) != wanted && name != CLEANUP_FINALIZER)
            .collect();
        let mut after: Vec<String> = before
            .iter()
            .filter(|name| !stale.contains(name))
            .cloned()
            .collect();
        // The API accepts no new finalizer for an object that is being deleted.
        if let Some(wanted) = wanted.filter(|_| !current.deleting)
            && !after.iter().any(|name| name == wanted)
        {
            after.push(wanted.to_owned());
        }
        after
    })
    .await
}

/// Releases finalizers. Returns `None` if the custom resource no longer exists.
pub(super) async fn remove(
    cluster: &Cluster,
    cr: &Arc<Object>,
    names: &[&str],
) -> Result<Option<Arc<Object>>, cluster::Error> {
    finalizer::update_finalizers(cluster, cr, None, |_, before| {
        before
            .iter()
            .filter(|name| !names.contains(&&***name))
            .cloned()
            .collect()
    })
    .await
}

/// Releases all finalizers of ours.
pub(super) async fn release(context: &Context, cr: &Arc<Object>) -> Result<(), cluster::Error> {
    finalizer::update_finalizers(&context.cluster, cr, None, |current, before| {
        let ours = own_finalizers(current);
        before
            .iter()
            .filter(|name| !ours.contains(name))
            .cloned()
            .collect()
    })
    .await
    .map(|_| ())
}

/// Returns whether a custom resource has a finalizer.
pub(super) fn has(cr: &Object, name: &str) -> bool {
    cr.details()
        .finalizers
        .iter()
        .any(|finalizer| finalizer == name)
}

/// Returns the program of a deletion run: the main script or pipeline of the finalizer's role. Without
/// such a role, it is `tasks/finalize` of the watch's role, or its main script or pipeline, which sees
/// that `finalizing` is true.
pub(super) fn entry<'a>(role: &'a Role, finalizer: &Finalizer) -> &'a Entry {
    match (&finalizer.role, &role.finalize) {
        (None, Some(finalize)) => finalize,
        _ => &role.entry,
    }
}

/// Returns the time left for a deletion; `None` without a limit.
pub(super) fn time_left(cr: &Object, finalizer: &Finalizer, now: Timestamp) -> Option<Duration> {
    let timeout = finalizer.timeout?;
    let since: Timestamp = cr.details().deletion_timestamp?.parse().ok()?;
    let passed = Duration::try_from(now.duration_since(since)).unwrap_or_default();
    Some(timeout.saturating_sub(passed))
}

/// Returns whether the finalizer is released although the deletion run did not succeed.
pub(super) fn gives_up(finalizer: &Finalizer, outcome: &Outcome, left: Option<Duration>) -> bool {
    finalizer.on_failure == FinalizerFailure::Orphan
        && left == Some(Duration::ZERO)
        && !matches!(outcome, Outcome::Done | Outcome::Cancelled)
}

#[cfg(test)]
mod tests {
    use serde_json::{Map, Value, json};

    use super::*;
    use crate::model::yaml::Position;
    use crate::testing;

    fn cr(metadata: &Value) -> Object {
        let mut whole = json!({"metadata": {"name": "x"}});
        whole["metadata"]
            .as_object_mut()
            .unwrap()
            .extend(metadata.as_object().unwrap().clone());
        testing::custom_resource(&whole)
    }

    fn bounded(on_failure: FinalizerFailure) -> Finalizer {
        Finalizer {
            name: "example.com/f".into(),
            role: None,
            role_position: Position::default(),
            vars: Map::new(),
            timeout: Some(Duration::from_mins(1)),
            on_failure,
        }
    }

    #[test]
    fn the_time_of_a_deletion_runs_from_its_timestamp() {
        let deleted = cr(&json!({"deletionTimestamp": "2026-01-01T00:00:00Z"}));
        let at = |text: &str| text.parse().unwrap();
        let finalizer = bounded(FinalizerFailure::Orphan);
        let left = time_left(&deleted, &finalizer, at("2026-01-01T00:00:20Z"));
        assert_eq!(left, Some(Duration::from_secs(40)));
        // The server's clock may be ahead of ours.
        let left = time_left(&deleted, &finalizer, at("2025-12-31T23:59:00Z"));
        assert_eq!(left, Some(Duration::from_mins(1)));
        let left = time_left(&deleted, &finalizer, at("2026-01-01T00:02:00Z"));
        assert_eq!(left, Some(Duration::ZERO));
    }

    #[test]
    fn only_orphan_gives_up_and_only_when_the_time_is_over() {
        let failed = Outcome::Failed {
            message: "".into(),
            after: None,
        };
        let over = Some(Duration::ZERO);
        let orphan = bounded(FinalizerFailure::Orphan);
        assert!(gives_up(&orphan, &failed, over));
        assert!(!gives_up(&orphan, &failed, Some(Duration::from_secs(1))));
        assert!(!gives_up(&orphan, &failed, None));
        assert!(!gives_up(&orphan, &Outcome::Done, over));
        assert!(!gives_up(&bounded(FinalizerFailure::Retry), &failed, over));
    }
}
