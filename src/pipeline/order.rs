//! An order in which the steps of a list can be done.

use std::collections::BTreeSet;

use super::Step;

/// The indices of the steps of a list, each after those that it needs; else as in the file.
pub(super) fn order(steps: &[Step]) -> Vec<usize> {
    let mut order = Vec::with_capacity(steps.len());
    let mut done = vec![false; steps.len()];
    let is_free = |done: &[bool], index: usize| {
        !done[index] && steps[index].needs.iter().all(|need| done[*need])
    };
    // There is always one: a graph with a circle is not loaded.
    while let Some(next) = (0..steps.len()).find(|index| is_free(&done, *index)) {
        done[next] = true;
        order.push(next);
    }
    order
}

/// The steps that have to be done before one, those that these need included.
pub(super) fn needs_all(steps: &[Step], index: usize) -> BTreeSet<usize> {
    let mut all = BTreeSet::new();
    let mut left = steps[index].needs.clone();
    while let Some(need) = left.pop() {
        if all.insert(need) {
            left.extend(&steps[need].needs);
        }
    }
    all
}
