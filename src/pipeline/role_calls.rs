//! Which other roles a pipeline calls.

use std::sync::Arc;

use super::{Action, SourceLocation, Step};

/// A role that a step calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The name of the role.
    pub name: Arc<str>,
    /// Where it stands.
    pub place: SourceLocation,
}

/// The calls of steps and of those within them; a name with slots is known in a run only.
pub fn calls(steps: &[Step]) -> Vec<Call> {
    let of_step = |step: &Step| match &step.action {
        Action::Role(role) => {
            let call = role.name.constant().map(|name| Call {
                name: name.into(),
                place: role.place.clone(),
            });
            call.into_iter().collect()
        }
        Action::Include(include) => calls(&include.steps),
        Action::Block(block) => {
            let lists = [&block.steps, &block.always]
                .into_iter()
                .chain(&block.rescue);
            lists.flat_map(|steps| calls(steps)).collect()
        }
        _ => Vec::new(),
    };
    steps.iter().flat_map(of_step).collect()
}
