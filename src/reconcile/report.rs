//! The report of a run.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::ObjectChange;
use crate::host::session::RunEffects;
use crate::model::{Object, ObjectRef, Outcome, PublicText};

/// The result of a run.
#[derive(Clone, Debug)]
pub struct Report {
    /// The outcome, as the status and the Events report it.
    pub outcome: Outcome,
    /// The custom resource after the run.
    pub cr: Arc<Object>,
    /// True if the annotation `rhai.operator/paused` prevented the run.
    pub paused: bool,
    /// The effects of the role: reads, writes, calls, steps.
    pub effects: RunEffects,
    /// True if the custom resource no longer exists, or no longer needs this operator.
    pub gone: bool,
    /// The objects that a waiting run waits for. Each is a child, or one of the reads.
    pub waits: BTreeSet<ObjectRef>,
    /// Children that were deleted because the role no longer applies them.
    pub pruned: Vec<ObjectRef>,
    /// The time until the next run, if the role requested one or the deletion has a time limit.
    pub requeue_after: Option<Duration>,
    /// [`super::status_digest`] after the run. A later event with another value is an edit by another
    /// client.
    pub status_digest: u64,
    /// True if the run wrote the status.
    pub status_written: bool,
    /// Duration of the run.
    pub took: Duration,
    /// Duration of the script, including host calls.
    pub script_took: Duration,
    /// Name of the limit that ended the run.
    pub limit: Option<&'static str>,
    /// Findings for the user, such as fields that the server dropped.
    pub notes: Vec<PublicText>,
    /// The changes of the run, or of the plan. Empty for runs of the operator.
    pub changes: Vec<ObjectChange>,
    /// The status after the run, or after the plan. Null for runs of the operator.
    pub status: Value,
    /// The history to pass to the next run.
    pub history: Arc<History>,
}

/// Knowledge that one run leaves for the next run of the same custom resource. It can be lost at any
/// time: it saves requests and repeated warnings, and correctness does not depend on it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// True if the last run failed.
    pub(super) failed: bool,
    /// Status paths that the server dropped.
    pub(super) dropped: BTreeSet<String>,
    /// Warnings about dropped fields that were already given.
    pub(super) reported: BTreeSet<PublicText>,
}

impl Report {
    /// Creates the report of a run that has not begun.
    pub(crate) fn new(outcome: Outcome, cr: &Arc<Object>) -> Self {
        Self {
            outcome,
            cr: Arc::clone(cr),
            paused: false,
            gone: false,
            effects: RunEffects::default(),
            waits: BTreeSet::new(),
            pruned: Vec::new(),
            requeue_after: None,
            status_digest: 0,
            status_written: false,
            took: Duration::ZERO,
            script_took: Duration::ZERO,
            limit: None,
            notes: Vec::new(),
            changes: Vec::new(),
            status: Value::Null,
            history: Arc::default(),
        }
    }
}
