//! The outcome of each step of a run, for reports and the status.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::tree::SourceLocation;
use crate::model::PublicText;

/// The outcome of a step of a pipeline.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// Its name; within a loop with the number of the item: `replicas[2]`.
    pub name: Arc<str>,
    /// The key of its action in the file.
    pub action: &'static str,
    /// The location of its first key.
    pub location: SourceLocation,
    /// Its number in its list, from 1.
    pub number: usize,
    /// The number of steps in the list.
    pub of: usize,
    /// The steps of the list that it needs.
    pub needs: Vec<Arc<str>>,
    /// Its state at the end of the run.
    pub state: StepState,
    /// The conditions that it waits for, its errors, or the steps that block it; otherwise empty.
    pub message: PublicText,
    /// The time of its start, from the start of the run.
    pub at: Duration,
    /// Its duration, with the steps within it.
    pub took: Duration,
    /// The number of its host calls, with those of the steps within it.
    pub calls: usize,
    /// The indices of its writes among those of the run, with those of the steps within it.
    pub writes: Range<usize>,
    /// The steps within it.
    pub steps: Vec<Self>,
}

/// The state of a step after a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// The step is done.
    Done,
    /// Its `when` is false.
    Skipped,
    /// The selection of the run does not contain it.
    Unselected,
    /// Its gates are closed, or the role or steps that it runs wait.
    Waiting,
    /// The step failed.
    Failed,
    /// A step that it needs is waiting or failed.
    Blocked,
}

impl StepState {
    /// Returns the name of the state in reports and in the status.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Skipped => "skipped",
            Self::Unselected => "unselected",
            Self::Waiting => "waiting",
            Self::Failed => "failed",
            Self::Blocked => "blocked",
        }
    }
}
