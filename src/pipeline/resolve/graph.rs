//! The graph of needs.

use std::collections::BTreeMap;

use crate::pipeline::parsed::StepId;

/// The steps that each step needs, with the first reason of each need.
#[derive(Debug, Default)]
pub(super) struct NeedsGraph(BTreeMap<StepId, BTreeMap<usize, NeedReason>>);

/// The reason that a step needs another one. A lower reason explains a need better.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum NeedReason {
    /// Its `needs` names the other step.
    Named,
    /// It, or a step within it, uses a result of the other step.
    Reads,
    /// It follows the other step in the file and has no `needs`.
    Follows,
}

impl NeedsGraph {
    /// Adds that a step needs another one of its list.
    pub(super) fn add(&mut self, step: StepId, need: usize, reason: NeedReason) {
        let needs = self.0.entry(step).or_default();
        let known = needs.entry(need).or_insert(reason);
        *known = reason.min(*known);
    }

    /// Returns the indices of the steps of its list that a step needs.
    pub(super) fn needs_of(&self, step: StepId) -> Vec<usize> {
        let needs = self.0.get(&step).into_iter();
        needs.flat_map(|needs| needs.keys().copied()).collect()
    }

    /// Returns the reason that a step needs another one of its list.
    pub(super) fn reason(&self, step: StepId, need: usize) -> Option<NeedReason> {
        self.0.get(&step)?.get(&need).copied()
    }
}
