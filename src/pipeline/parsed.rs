//! Steps after parsing: needs and results are still names.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::step::{Action, Block, Include, Loop, Ready, Step};
use super::tree::{SourceLocation, Test, Tree};
use crate::model::Diagnostic;
use crate::model::yaml::Position;
use crate::script::{Snippet, SnippetId};

/// A parsed file of steps with all files that it includes.
pub(super) struct ParsedPipeline {
    pub(super) steps: StepList,
    /// The code in the files; the n-th is snippet n of the program.
    pub(super) snippets: Vec<Snippet>,
    /// The files of steps that were parsed, by their path within the role.
    pub(super) files: BTreeSet<Arc<str>>,
    pub(super) problems: Vec<Diagnostic>,
}

/// A step of the pipeline: its list and its index there.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct StepId {
    /// The number of the list. The lists of a block are numbered in the order of their execution.
    pub(super) list: usize,
    pub(super) index: usize,
}

/// A list of steps.
#[derive(Debug)]
pub(super) struct StepList {
    /// A number that no other list of the pipeline has.
    pub(super) number: usize,
    /// The path of its file within the role.
    pub(super) file: Arc<str>,
    pub(super) steps: Vec<ParsedStep>,
}

/// A step whose needs are names.
#[derive(Debug)]
pub(super) struct ParsedStep {
    /// Its name, or `apply 3` for the third step of its list.
    pub(super) name: Arc<str>,
    /// True if the file contains the name.
    pub(super) is_named: bool,
    pub(super) register: Option<Arc<str>>,
    pub(super) location: SourceLocation,
    pub(super) position: Position,
    /// `needs`, if the file contains it.
    pub(super) needs: Option<Vec<(String, Position)>>,
    pub(super) when: Vec<Test>,
    pub(super) repeat: Option<Loop>,
    pub(super) vars: Vec<(Arc<str>, Tree)>,
    pub(super) tags: BTreeSet<Arc<str>>,
    pub(super) action: ParsedAction,
    pub(super) ready: Option<Ready>,
    pub(super) until: Vec<Test>,
    pub(super) timeout: Option<Duration>,
    pub(super) retries: Option<u64>,
    /// The results that it uses outside of its gates.
    pub(super) uses: Vec<ResultUse>,
    /// The results that its gates use, possibly those of the steps within it.
    pub(super) gate_uses: Vec<ResultUse>,
}

/// The action of a parsed step.
#[derive(Debug)]
pub(super) enum ParsedAction {
    /// An action without steps.
    Plain(Action),
    Include {
        steps: StepList,
    },
    Block {
        steps: StepList,
        rescue: Option<StepList>,
        always: StepList,
    },
    /// None, because of an error that was reported.
    Invalid,
}

/// A use of `results`.
#[derive(Clone, Debug)]
pub(super) enum ResultUse {
    /// All uses in a piece of code, which are known once it is compiled.
    Code {
        snippet: SnippetId,
        /// The file that contains the code, by its path within the role.
        file: Arc<str>,
    },
    /// A use in a query or a template.
    Key {
        /// The key; none where all results are used.
        key: Option<String>,
        /// The file and the position; none for a template.
        position: Option<(Arc<str>, Position)>,
    },
}

impl ParsedStep {
    /// Returns the lists of steps within it.
    pub(super) fn lists(&self) -> Vec<&StepList> {
        match &self.action {
            ParsedAction::Include { steps } => vec![steps],
            ParsedAction::Block {
                steps,
                rescue,
                always,
            } => {
                let lists = [Some(steps), rescue.as_ref(), Some(always)];
                lists.into_iter().flatten().collect()
            }
            ParsedAction::Plain(_) | ParsedAction::Invalid => Vec::new(),
        }
    }

    /// Returns whether the steps within it have a namespace of their own.
    pub(super) fn has_own_names(&self) -> bool {
        self.repeat.is_some() || matches!(self.action, ParsedAction::Include { .. })
    }
}

impl StepList {
    /// Converts the steps, given the needs of each; none if a step has no valid action.
    pub(super) fn resolve(self, needs: &dyn Fn(StepId) -> Vec<usize>) -> Option<Vec<Step>> {
        let list = self.number;
        let steps = self.steps.into_iter().enumerate();
        steps
            .map(|(index, step)| step.resolve(StepId { list, index }, needs))
            .collect()
    }
}

impl ParsedStep {
    fn resolve(self, id: StepId, needs: &dyn Fn(StepId) -> Vec<usize>) -> Option<Step> {
        Some(Step {
            name: self.name,
            register: self.register,
            location: self.location,
            needs: needs(id),
            when: self.when,
            repeat: self.repeat,
            vars: self.vars,
            tags: self.tags,
            action: self.action.resolve(needs)?,
            ready: self.ready,
            until: self.until,
            timeout: self.timeout,
            retries: self.retries,
        })
    }
}

impl ParsedAction {
    fn resolve(self, needs: &dyn Fn(StepId) -> Vec<usize>) -> Option<Action> {
        match self {
            Self::Plain(action) => Some(action),
            Self::Include { steps } => Some(Action::Include(Include {
                steps: steps.resolve(needs)?,
            })),
            Self::Block {
                steps,
                rescue,
                always,
            } => Some(Action::Block(Block {
                steps: steps.resolve(needs)?,
                rescue: match rescue {
                    Some(rescue) => Some(rescue.resolve(needs)?),
                    None => None,
                },
                always: always.resolve(needs)?,
            })),
            Self::Invalid => None,
        }
    }
}
