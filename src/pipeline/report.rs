//! The outcome of each step of a run, for reports and the status.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use serde::Serialize;

use super::SourceLocation;
use crate::model::PublicText;

/// What one step of a pipeline came to.
#[derive(Clone, Debug)]
pub struct StepReport {
    /// Its name, with the number of the item where it is repeated: `replicas[2]`.
    pub name: Arc<str>,
    /// The key of its action.
    pub action: &'static str,
    /// Where it begins.
    pub place: SourceLocation,
    /// Which one of its list it is, from 1.
    pub number: usize,
    /// How many steps the list has.
    pub of: usize,
    /// The steps of the list that it needs.
    pub needs: Vec<Arc<str>>,
    /// How it stands.
    pub state: StepState,
    /// What it waits for, why it failed, which steps hold it up; else empty.
    pub message: PublicText,
    /// When it began, from the beginning of the run.
    pub at: Duration,
    /// How long it took, the steps in it included.
    pub took: Duration,
    /// Host calls that it made, those of the steps in it included.
    pub calls: usize,
    /// Which of the run's writes are its own, or those of the steps in it.
    pub writes: Range<usize>,
    /// The steps in it.
    pub steps: Vec<Self>,
}

/// How a step stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum StepState {
    /// It is done.
    Done,
    /// Its `when` does not hold.
    Skipped,
    /// The run was not asked to do it.
    Unselected,
    /// Its gates are closed, or what it runs waits.
    Waiting,
    /// It failed.
    Failed,
    /// A step that it needs waits or failed.
    Blocked,
}

impl StepState {
    /// The word for people and machines.
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
