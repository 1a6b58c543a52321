//! The path to a step through the steps that contain it.

use crate::pipeline::parsed::StepId;

/// The path to a step: the step of each level, outermost first.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct StepPath(Vec<StepId>);

/// The position of a step in relation to a step that refers to it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Relation {
    /// Both are in one list, or within two steps of one list.
    Sibling {
        /// The step of the list that refers, or contains the one that does.
        from: StepId,
        /// The index of the other one in that list.
        to: usize,
    },
    /// It is in an earlier part of the same block.
    Earlier,
    /// It is in a later part of the same block.
    Later,
    /// It contains the step that refers to it.
    Ancestor,
    /// It is within the step that refers to it.
    Descendant,
}

impl StepPath {
    /// Returns the path to a step within the one at this path.
    pub(super) fn below(&self, step: StepId) -> Self {
        let mut path = self.0.clone();
        path.push(step);
        Self(path)
    }

    /// Returns the steps on the path; the last one is the step itself.
    pub(super) fn levels(&self) -> &[StepId] {
        &self.0
    }

    /// Returns the position of another step in relation to this one.
    pub(super) fn relation_to(&self, other: &Self) -> Relation {
        let mut levels = self.0.iter().zip(&other.0);
        match levels.find(|(own, other)| own != other) {
            Some((&from, to)) if from.list == to.list => Relation::Sibling { from, to: to.index },
            // The lists of a block are numbered in the order of their execution.
            Some((own, other)) if other.list < own.list => Relation::Earlier,
            Some(_) => Relation::Later,
            None if other.0.len() < self.0.len() => Relation::Ancestor,
            None => Relation::Descendant,
        }
    }
}
