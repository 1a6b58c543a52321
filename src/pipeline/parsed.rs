//! Steps as they were read, before the graph is known.

use std::ops::Range;
use std::sync::Arc;

use super::action::Action;
use super::parse::Mentioned;
use super::step::Step;
use crate::model::yaml::Position;

/// A list of steps; its number tells it from all others of the pipeline.
#[derive(Debug, Default)]
pub(super) struct List {
    pub(super) number: usize,
    /// The file that it is in.
    pub(super) file: Arc<str>,
    pub(super) drafts: Vec<Draft>,
}

/// A step whose needs are still names.
#[derive(Debug)]
pub(super) struct Draft {
    /// The step without its needs and without the steps within it.
    pub(super) step: Step,
    pub(super) position: Position,
    /// Whether its name was given.
    pub(super) named: bool,
    /// `needs`, if given.
    pub(super) needs: Option<Vec<(String, Position)>>,
    /// Its code, but for the gates'.
    pub(super) code: Range<usize>,
    /// The code of its gates, which may use its own result.
    pub(super) gates: Range<usize>,
    /// What its queries and templates use.
    pub(super) mentions: Vec<Mentioned>,
    /// What the queries of its gates use.
    pub(super) gate_mentions: Vec<Mentioned>,
    /// The steps within it: one list of an include, three of a block.
    pub(super) within: Vec<List>,
}

impl Draft {
    /// Returns whether the steps within it have names of their own.
    pub(super) fn is_enclosed(&self) -> bool {
        self.step.repeat.is_some() || matches!(self.step.action, Action::Include(_))
    }
}

/// The steps of a list, the graph being known: the needs of each step by number of the list and index.
pub(super) fn finish(list: List, needs: &dyn Fn(usize, usize) -> Vec<usize>) -> Vec<Step> {
    let List { number, drafts, .. } = list;
    let drafts = drafts.into_iter().enumerate();
    drafts
        .map(|(index, draft)| {
            let mut step = draft.step;
            step.needs = needs(number, index);
            let mut within = draft.within.into_iter().map(|list| finish(list, needs));
            match &mut step.action {
                Action::Include(include) => include.steps = within.next().unwrap_or_default(),
                Action::Block(block) => {
                    block.steps = within.next().unwrap_or_default();
                    let rescue = within.next().unwrap_or_default();
                    block.rescue = block.rescue.is_some().then_some(rescue);
                    block.always = within.next().unwrap_or_default();
                }
                _ => {}
            }
            step
        })
        .collect()
}
