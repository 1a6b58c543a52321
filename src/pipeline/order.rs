//! The order of the steps of a list.

use std::collections::BTreeSet;

use super::step::Step;

/// Returns the indices of the steps of a list in the order of execution: each step after its needs, and
/// otherwise as in the file.
pub(super) fn execution_order(steps: &[Step]) -> Vec<usize> {
    let mut order = Vec::with_capacity(steps.len());
    let mut done = vec![false; steps.len()];
    let is_free = |done: &[bool], index: usize| {
        !done[index] && steps[index].needs.iter().all(|need| done[*need])
    };
    // A step is always free: a graph with a cycle is not loaded.
    while let Some(next) = (0..steps.len()).find(|index| is_free(&done, *index)) {
        done[next] = true;
        order.push(next);
    }
    order
}

/// Returns the steps that must be done before a step: its needs, and their needs.
pub(super) fn transitive_needs(steps: &[Step], index: usize) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    let mut left = steps[index].needs.clone();
    while let Some(need) = left.pop() {
        if all.insert(need) {
            left.extend(&steps[need].needs);
        }
    }
    all
}
