//! What a run came to.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::Duration;

use serde_json::Value;

use super::{Call, ObjectChange, StepReport, Subscription};
use crate::apply::ActionCounts;
use crate::model::{Object, ObjectRef, Outcome, PublicText};

/// What a run came to; all that anyone may want to know about it.
#[derive(Clone, Debug)]
pub struct Report {
    /// How it ended.
    pub outcome: Outcome,
    /// The custom resource as the run left it.
    pub cr: Arc<Object>,
    /// Whether nothing was run because of the annotation `rhai.operator/paused`.
    pub paused: bool,
    /// Whether the custom resource is gone, or ours no longer: what is kept of it can go.
    pub gone: bool,
    /// What the next run depends on; a change of it is to trigger one.
    pub reads: Vec<Subscription>,
    /// The objects that a waiting run waits for; each is among `reads` or is a child.
    pub waits: BTreeSet<ObjectRef>,
    /// What the role wants to exist.
    pub applied: BTreeSet<ObjectRef>,
    /// What was deleted because the role no longer applies it.
    pub pruned: Vec<ObjectRef>,
    /// When a further run is due, because the role asked for it or a deletion has a bound.
    pub requeue_after: Option<Duration>,
    /// [`super::status_digest`] after the run: another value in a later event is someone's edit.
    pub status_digest: u64,
    /// Whether the status was written.
    pub status_written: bool,
    /// What the role wrote, each as often as that changed something, for the loop detector.
    pub writes: Vec<ObjectRef>,
    /// Writes that were not needed.
    pub skipped: usize,
    /// What applies came to.
    pub actions: ActionCounts,
    /// How long the run took.
    pub took: Duration,
    /// How long its script took, host calls included.
    pub script_took: Duration,
    /// The name of the limit that ended the run, if one did.
    pub limit: Option<&'static str>,
    /// How often the script called each host function that reaches out.
    pub calls: BTreeMap<&'static str, usize>,
    /// What people should know, e.g. fields that the server dropped.
    pub notes: Vec<PublicText>,
    /// Each host call; empty for the operator's runs.
    pub trace: Vec<Call>,
    /// What the steps of pipelines came to.
    pub steps: Vec<StepReport>,
    /// What was changed, or would be; empty for the operator's runs.
    pub changes: Vec<ObjectChange>,
    /// The status as it is after the run, or would be; null for the operator's runs.
    pub status: Value,
    /// What the next run is to be given.
    pub history: Arc<History>,
}

/// What one run leaves for the next of the same custom resource. It may be lost at any time: what it
/// saves is a repetition or a request, never correctness.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct History {
    /// Whether the last run failed.
    pub(super) failed: bool,
    /// Paths of the status that the server dropped.
    pub(super) dropped: BTreeSet<String>,
    /// Dropped fields that people were told of.
    pub(super) reported: BTreeSet<PublicText>,
}

impl Report {
    /// A report of a run that did nothing yet.
    pub(crate) fn new(outcome: Outcome, cr: &Arc<Object>) -> Self {
        Self {
            outcome,
            cr: Arc::clone(cr),
            paused: false,
            gone: false,
            reads: Vec::new(),
            waits: BTreeSet::new(),
            applied: BTreeSet::new(),
            pruned: Vec::new(),
            requeue_after: None,
            status_digest: 0,
            status_written: false,
            writes: Vec::new(),
            skipped: 0,
            actions: ActionCounts::default(),
            took: Duration::ZERO,
            script_took: Duration::ZERO,
            limit: None,
            calls: BTreeMap::new(),
            notes: Vec::new(),
            trace: Vec::new(),
            steps: Vec::new(),
            changes: Vec::new(),
            status: Value::Null,
            history: Arc::default(),
        }
    }
}
