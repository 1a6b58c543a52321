//! The context of a step: the parts of other steps that contain it.

use crate::pipeline::scope::{ERROR, ITEM, RESULTS};

/// The context of a step.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Context {
    /// It is in a loop.
    pub(super) in_loop: bool,
    /// It is in a step with `vars`.
    pub(super) in_vars: bool,
    /// It is in a `rescue`.
    pub(super) in_rescue: bool,
    /// The effect of a failure.
    pub(super) failure: Failure,
}

/// The effect of a failure of a step.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Failure {
    /// It ends the run.
    #[default]
    Thrown,
    /// A `rescue` or `always` catches it.
    Caught,
    /// A `rescue` catches it, and reads the name of the step that failed.
    Tracked,
}

impl Context {
    /// Returns whether a block around the step catches a failure.
    pub(super) fn is_caught(self) -> bool {
        self.failure >= Failure::Caught
    }

    /// Returns the variables of pipelines that exist here.
    pub(super) fn variables(self) -> impl Iterator<Item = &'static str> {
        let some = [
            Some(RESULTS),
            self.in_loop.then_some(ITEM),
            self.in_rescue.then_some(ERROR),
        ];
        some.into_iter().flatten()
    }
}
