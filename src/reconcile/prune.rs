//! Deletes children that the role no longer applies, after a complete run.

use std::sync::Arc;

use super::Mode;
use super::events::Event;
use super::outcome_mapping::RunEnd;
use super::run::Run;
use crate::apply::prune::{self as children, PruneResult};
use crate::host::session::WrittenStates;
use crate::model::annotations::{CHILDREN, CLEANUP_FINALIZER};
use crate::model::{ObjectRef, Outcome};
use crate::telemetry::log;

/// Maximum number of objects that a message names.
const NAMED: usize = 5;

impl Run<'_> {
    /// Deletes the children that a complete run did not apply, unless the watch has `prune: false`, and removes
    /// children that no longer exist from the list of the custom resource. Returns the end of a run that failed
    /// here.
    pub(super) async fn prune(&mut self) -> Option<RunEnd> {
        if !self.input.watch.prune {
            return update_child_list(self).await;
        }
        if let Err(end) = discover_child_kinds(self).await {
            return end;
        }
        let PruneResult { deleted, failed } =
            children::prune(&self.cluster, &self.owner(), &self.report.effects.applied).await;
        self.report.pruned = deleted.iter().map(|child| child.object_ref()).collect();
        self.report
            .effects
            .writes
            .extend_from_slice(&self.report.pruned);
        let states = deleted.into_iter().map(|child| WrittenStates {
            before: Some(child),
            after: None,
        });
        self.unredacted.writes.extend(states);
        if !self.report.pruned.is_empty() {
            let names = enumerate(&self.report.pruned);
            let note = format!("deleted children that the role no longer applies: {names}");
            let note = self.redactor.public(&note);
            self.send(Event::normal(&self.cr, "Pruned", note));
        }
        if let Some(end) = update_child_list(self).await {
            return Some(end);
        }
        let (object, error) = failed.first()?;
        let end = RunEnd::from_apply_error(
            &format!("cannot prune {object}"),
            error,
            false,
            &self.redactor,
        );
        (end.outcome != Outcome::Done).then_some(end)
    }
}

/// Removes children that no longer exist from the list of the custom resource, and the cleanup finalizer
/// with the last of them.
async fn update_child_list(run: &mut Run<'_>) -> Option<RunEnd> {
    if run.input.mode == Mode::Plan || run.cr.uid.is_empty() {
        return None;
    }
    let reference = run.cr.object_ref();
    let newest = match run.cluster.cached(&reference) {
        Some(Some(cached)) if cached.uid == run.cr.uid => cached,
        _ => Arc::clone(run.cr.object()),
    };
    // This check follows each run, so the cheap test comes before the parse.
    if !newest.json().contains(CHILDREN) && !newest.json().contains(CLEANUP_FINALIZER) {
        return None;
    }
    // A child of a kind that no cache holds yet would look absent.
    if let Err(end) = discover_child_kinds(run).await {
        return end;
    }
    let applied = &run.report.effects.applied;
    match children::update_child_list(&run.cluster, &run.owner(), &newest, applied).await {
        Ok(Some(_)) => None,
        Ok(None) => Some(RunEnd::for_absent_cr()),
        Err(error) => Some(RunEnd::from_cluster_error(
            "cannot update the list of children",
            &error,
            false,
            &run.redactor,
        )),
    }
}

/// Waits until the caches hold the children of all kinds, including kinds that no role applies any more.
async fn discover_child_kinds(run: &Run<'_>) -> Result<(), Option<RunEnd>> {
    if run.cr.uid.is_empty() {
        return Ok(());
    }
    let error = match run.context.child_kinds.done(&run.context.cluster).await {
        Ok(()) => return Ok(()),
        Err(error) => error,
    };
    if error.retryable {
        return Err(Some(RunEnd::from_cluster_error(
            "cannot discover the kinds of children",
            &error,
            false,
            &run.redactor,
        )));
    }
    // A retry would not help, and a role that did its work must not fail for this.
    if run
        .context
        .warned
        .is_first("cannot discover the kinds of children")
    {
        let error = run.redactor.public(&error);
        log::warn!(
            "cannot prune: cannot discover the kinds of children",
            error = error
        );
    }
    Err(None)
}

/// Formats a list of objects for a message.
pub(super) fn enumerate(objects: &[ObjectRef]) -> String {
    let named: Vec<String> = objects
        .iter()
        .take(NAMED)
        .map(ToString::to_string)
        .collect();
    match objects.len().saturating_sub(NAMED) {
        0 => named.join(", "),
        more => format!("{} and {more} more", named.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gvk;

    #[test]
    fn many_objects_are_a_number() {
        let object = |n: usize| ObjectRef::new(Gvk::new("", "v1", "Pod"), None, &format!("p{n}"));
        let objects: Vec<_> = (0..7).map(object).collect();
        assert_eq!(enumerate(&objects[..2]), "Pod p0, Pod p1");
        assert!(enumerate(&objects).ends_with("Pod p4 and 2 more"));
    }
}
