//! Pipelines and their steps.
//!
//! # Names
//! - `needs` refers to a step by its name, `results` to a result by the name that its step registers.
//! - The steps of a block are in the namespace of the list that contains the block. A block with a loop
//!   and an included file have namespaces of their own. Their steps see the results that are visible at
//!   their place. From outside, only the result of the whole is visible: a map of the results within it
//!   (for a loop a list of maps).
//! - A reference to a step of another list is a need between the two steps of one list that contain both.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use super::action::{Apply, Assert, Condition, Delete, Event, Role, Script};
use super::tree::{Expression, Query, SourceLocation, Test, TextTemplate, Tree};
use crate::script::Program;

/// A compiled pipeline. Names of steps are indices, manifests are trees with slots, and expressions are
/// snippets of one program, so a run parses nothing.
#[derive(Debug)]
pub struct Pipeline {
    /// All its expressions and scripts, and the text of its files.
    pub program: Arc<Program>,
    /// Its steps in the order of the file.
    pub steps: Vec<Step>,
}

/// A step of a list.
///
/// # Order of its parts
/// With a loop, all parts but `repeat` are executed for each item: `vars` (they see the variables outside
/// of the step and the earlier ones of their map), `when`, the action, `ready`, `until`. Without a loop,
/// they are executed once.
///
/// # Its result
/// The result of its action, `()` if it was skipped; for a loop the list of results of the items whose
/// `when` was true. Steps that need a skipped step are executed.
#[derive(Debug)]
pub struct Step {
    /// Its name, unique in its namespace; `apply 3` for the third step of its list if it has none.
    pub name: Arc<str>,
    /// The key of `results` for its result. None if it has neither a name nor `register`.
    pub register: Option<Arc<str>>,
    /// The location of its first key.
    pub location: SourceLocation,
    /// The indices of the steps of the same list that must be done before it. The graph has no cycle. An
    /// index may be greater than the step's own.
    pub needs: Vec<usize>,
    /// Tests that must all be true, or the step is skipped.
    pub when: Vec<Test>,
    /// `loop`.
    pub repeat: Option<Loop>,
    /// Variables merged into `vars` (deeply; `()` removes a key) for this step and all steps within it.
    pub vars: Vec<(Arc<str>, Tree)>,
    /// Its tags and those of the steps that contain it.
    pub tags: BTreeSet<Arc<str>>,
    /// The action of the step.
    pub action: Action,
    /// The gate on its objects.
    pub ready: Option<Ready>,
    /// Tests of its result that must all be true before it is done.
    pub until: Vec<Test>,
    /// The time that it may wait at its gates before it fails.
    pub timeout: Option<Duration>,
    /// The number of runs that it may fail in, each followed by the usual backoff, before its failure is
    /// final: the block is rescued, or the run stalls. None: its failure is rescued at once, or retried
    /// without end.
    pub retries: Option<u64>,
}

/// The items that a step is repeated for.
#[derive(Debug)]
pub enum Loop {
    /// A list or a map with slots.
    Items(Tree),
    /// Rhai that returns a list, or a map: each of its entries is an item `#{key, value}`.
    Expression(Expression),
    /// JSONPath: the selected values.
    Query(Query),
}

/// A gate on objects: for `apply` each live object that was applied, for `delete` their absence, for
/// `script` and `role` the objects that they return.
#[derive(Debug)]
pub enum Ready {
    /// `true`: the object is ready as the host function `ready` defines it; for `delete` it is gone.
    Status,
    /// A test with `object` in scope. A query is evaluated on the object itself.
    Test(Test),
}

/// An action, with the result of its step.
#[derive(Debug)]
pub enum Action {
    /// Applies objects. Result: the live object; a list for a list or a text of several documents.
    Apply(Box<Apply>),
    /// Deletes objects. Result: `()`.
    Delete(Delete),
    /// Runs a script. Result: its value.
    Script(Script),
    /// Runs another role on the same custom resource. Result: the value of a script, or the map of the
    /// results of a pipeline.
    Role(Role),
    /// Executes the steps of a file. Result: the map of their results.
    Include(Include),
    /// `set_status`. Result: `()`.
    Status(Tree),
    /// `set_condition`. Result: `()`.
    Condition(Condition),
    /// `event`. Result: `()`.
    Event(Event),
    /// Fails as [`Action::Fail`] unless all tests are true. Result: `()`.
    Assert(Assert),
    /// Fails without retries, as the host function `fail`. A block can rescue it.
    Fail(TextTemplate),
    /// Executes steps together. Result: `()`; with a loop the list of maps of their results.
    Block(Block),
}

/// `include`.
#[derive(Debug)]
pub struct Include {
    /// The steps of the file, compiled for this place.
    pub steps: Vec<Step>,
}

/// `block` with `rescue` and `always`.
#[derive(Debug, Default)]
pub struct Block {
    /// The steps of the block.
    pub steps: Vec<Step>,
    /// The steps that are executed if a step of `steps` failed, after those that do not need it have
    /// finished; `error` is in scope. Then the block fails only if one of these fails. With an empty list
    /// it does not fail.
    pub rescue: Option<Vec<Step>>,
    /// The steps that are executed at the end, also after a failure, but not while the block waits.
    pub always: Vec<Step>,
}

impl Action {
    /// Returns its key in the file.
    pub fn key(&self) -> &'static str {
        match self {
            Self::Apply(_) => "apply",
            Self::Delete(_) => "delete",
            Self::Script(_) => "script",
            Self::Role(_) => "role",
            Self::Include(_) => "include",
            Self::Status(_) => "status",
            Self::Condition(_) => "condition",
            Self::Event(_) => "event",
            Self::Assert(_) => "assert",
            Self::Fail(_) => "fail",
            Self::Block(_) => "block",
        }
    }
}

impl Step {
    /// Returns the lists of steps within it.
    pub fn lists(&self) -> impl Iterator<Item = &[Self]> {
        let lists: [&[Self]; 3] = match &self.action {
            Action::Block(block) => {
                let rescue = block.rescue.as_deref().unwrap_or_default();
                [&block.steps, rescue, &block.always]
            }
            Action::Include(include) => [&include.steps, &[], &[]],
            _ => [&[], &[], &[]],
        };
        lists.into_iter()
    }

    fn collect<'a>(&'a self, all: &mut Vec<&'a Self>) {
        all.push(self);
        for step in self.lists().flatten() {
            step.collect(all);
        }
    }
}

impl Pipeline {
    /// Returns all its steps, including those within steps, in the order of the files.
    pub fn all_steps(&self) -> Vec<&Step> {
        let mut all = Vec::new();
        for step in &self.steps {
            step.collect(&mut all);
        }
        all
    }
}
