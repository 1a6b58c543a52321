//! The steps that a run executes.

use std::collections::BTreeSet;

/// Which steps of a pipeline a run does. A choice makes the run a partial one: nothing is pruned.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StepSelection {
    /// Those with one of these tags; all where there are none.
    pub tags: BTreeSet<String>,
    /// This one and those after it in the order of the file.
    pub start_at: Option<String>,
}

impl StepSelection {
    /// Returns whether all steps are done.
    pub fn is_all(&self) -> bool {
        self.tags.is_empty() && self.start_at.is_none()
    }
}
