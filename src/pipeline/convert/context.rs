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
    /// It is in a block whose failures are caught.
    pub(super) is_caught: bool,
    /// It is in a block whose `rescue` reads the name of the step that failed.
    pub(super) is_tracked: bool,
}

impl Context {
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
