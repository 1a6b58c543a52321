//! The steps that a run executes.

use std::collections::BTreeSet;

/// The steps of a pipeline that a run executes. A run that does not execute all steps prunes nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepSelection {
    /// Selects the steps with one of these tags; all steps if empty.
    pub tags: BTreeSet<String>,
    /// Selects this step and those after it in the order of the file.
    pub start_at: Option<String>,
}

impl StepSelection {
    /// Returns whether it selects all steps.
    pub fn is_all(&self) -> bool {
        self.tags.is_empty() && self.start_at.is_none()
    }
}
