//! The outcome of a step, and of a list of steps.

use rhai::{Dynamic, EvalAltResult};

use super::failure::{Failure, Wait};
use crate::host::session::Ending;
use crate::pipeline::StepState;
use crate::pipeline::step::Step;

/// The outcome of a step.
pub(super) enum StepOutcome {
    /// The step is done, with this result.
    Done(Dynamic),
    /// Its `when` is false.
    Skipped,
    /// The selection of the run does not contain it.
    Unselected,
    Waiting(Vec<Wait>),
    Failed(Vec<Failure>),
    /// Steps that it needs, by index, are not done.
    Blocked(Vec<usize>),
}

impl StepOutcome {
    /// Returns the state for reports.
    pub(super) fn state(&self) -> StepState {
        match self {
            Self::Done(_) => StepState::Done,
            Self::Skipped => StepState::Skipped,
            Self::Unselected => StepState::Unselected,
            Self::Waiting(_) => StepState::Waiting,
            Self::Failed(_) => StepState::Failed,
            Self::Blocked(_) => StepState::Blocked,
        }
    }

    /// Returns the reason that a step of a list is not done; empty if it is.
    pub(super) fn message(&self, list: &[Step]) -> String {
        let parts: Vec<&str> = match self {
            Self::Waiting(waits) => waits.iter().map(|wait| &*wait.on).collect(),
            Self::Failed(failures) => failures.iter().map(|failure| &*failure.message).collect(),
            Self::Blocked(needs) => needs.iter().map(|need| &*list[*need].name).collect(),
            Self::Done(_) | Self::Skipped | Self::Unselected => Vec::new(),
        };
        parts.join("; ")
    }
}

/// The outcome of a list of steps: the waits and failures of all of them.
#[derive(Default)]
pub(super) struct ListOutcome {
    pub(super) waits: Vec<Wait>,
    pub(super) failures: Vec<Failure>,
}

impl ListOutcome {
    /// Adds the outcome of a step of the list, or of an item, under its name: `2 of 5, primary`.
    pub(super) fn add(&mut self, name: &str, outcome: StepOutcome) {
        match outcome {
            StepOutcome::Waiting(waits) => self.waits.extend(waits.into_iter().map(|wait| Wait {
                on: format!("{name}: {}", wait.on),
                ..wait
            })),
            StepOutcome::Failed(failures) => {
                self.failures
                    .extend(failures.into_iter().map(|failure| Failure {
                        message: format!("{name}: {}", failure.message),
                        ..failure
                    }));
            }
            StepOutcome::Done(_)
            | StepOutcome::Skipped
            | StepOutcome::Unselected
            | StepOutcome::Blocked(_) => {}
        }
    }

    /// Returns whether steps failed and no run will retry any of them.
    pub(super) fn has_final_failure(&self) -> bool {
        !self.failures.is_empty() && !self.failures.iter().any(|failure| failure.pending)
    }

    /// Returns whether all steps are done.
    pub(super) fn is_done(&self) -> bool {
        self.failures.is_empty() && self.waits.is_empty()
    }

    /// Returns the outcome of the step that contains the list. A failure has priority over a wait.
    pub(super) fn into_step_outcome(self, result: impl FnOnce() -> Dynamic) -> StepOutcome {
        if !self.failures.is_empty() {
            StepOutcome::Failed(self.failures)
        } else if !self.waits.is_empty() {
            StepOutcome::Waiting(self.waits)
        } else {
            StepOutcome::Done(result())
        }
    }

    /// Returns the ending of the run that consists of the list; none if all steps are done.
    pub(super) fn ending(&self) -> Option<Ending> {
        if self.failures.is_empty() {
            return (!self.waits.is_empty()).then(|| waiting(&self.waits));
        }
        let messages: Vec<&str> = self.failures.iter().map(|f| &*f.message).collect();
        Some(Ending::Broken {
            message: messages.join("; "),
            after: self.failures.iter().filter_map(Failure::retry_after).max(),
            terminal: self.failures.iter().all(|failure| failure.terminal),
        })
    }

    /// Removes and returns the error that decides the outcome of the run alone, if there is one.
    pub(super) fn take_decisive(&mut self) -> Option<Box<EvalAltResult>> {
        let mut failures = self.failures.iter();
        let index = failures.position(Failure::is_namespace_terminating)?;
        Some(self.failures.swap_remove(index).thrown)
    }
}

fn waiting(waits: &[Wait]) -> Ending {
    let on: Vec<&str> = waits.iter().map(|wait| &*wait.on).collect();
    let objects = waits.iter().flat_map(|wait| wait.objects.iter().cloned());
    Ending::Waiting {
        on: on.join("; "),
        objects: objects.collect(),
    }
}
