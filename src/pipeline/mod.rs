//! Declarative pipelines: `tasks/main.yaml`, a list of steps, as a compiled graph.
//!
//! Here is what a pipeline *is*; it is run by the host. Everything is resolved at load: names of steps
//! are indices, manifests are trees with slots, expressions are fragments of one [`Program`], so that a
//! run parses nothing.
//!
//! # Names
//! - A step is referred to by its `name` (`needs`) and its result by what it registers (`results.NAME`).
//! - Steps of a `block` share the names of the list that the block is in, unless the block has a loop.
//!   An included file, and a block with a loop, have names of their own: their steps see the results
//!   that are visible where they stand, and from outside only the result of the whole is seen: a map of
//!   the results within it (a list of such maps for a loop).
//! - A need of, or a reference to, a step of another list is a need between those two steps that are in
//!   one list and contain them.

mod action;
mod convert;
pub mod execute;
mod history;
mod keys;
mod load;
mod open_steps;
mod order;
mod parse;
mod parsed;
mod report;
mod resolve;
mod role_calls;
mod schema;
mod selection;
mod step;
mod tree;

use std::sync::Arc;

pub use action::{
    Action, Apply, Assert, Block, Condition, Delete, Event, Include, Manifests, Options, Role,
};
pub use convert::convert;
pub use history::{StepHistory, StepRecord};
pub(crate) use load::{Source, load};
pub(crate) use open_steps::OpenSteps;
use order::{needs_all, order};
pub use report::{StepReport, StepState};
pub use role_calls::{Call, calls};
pub use schema::schema;
pub use selection::StepSelection;
pub use step::{Loop, Ready, Step};
pub use tree::{Expression, Part, Query, SourceLocation, Test, Text, Tree};

use crate::script::Program;

/// Variables that expressions of a pipeline see beside those of scripts. Which of them exist depends on
/// where the expression is; what does not exist there is an error at load.
pub mod scope {
    /// What finished steps left, by what they register. Everywhere.
    pub const RESULTS: &str = "results";
    /// The item at hand of the innermost loop. In `when`, `vars`, the action and the gates of a step
    /// with a loop, and everywhere within a block or include that has one.
    pub const ITEM: &str = "item";
    /// The object at hand, live: in `ready`.
    pub const OBJECT: &str = "object";
    /// What the step's own action left: in `until`.
    pub const RESULT: &str = "result";
    /// What went wrong: in `rescue`. A map of `step`, `kind`, `message`, and for errors of the API also
    /// `code`, `reason`, `retryable`.
    pub const ERROR: &str = "error";

    /// All of them.
    pub const ALL: [&str; 5] = [RESULTS, ITEM, OBJECT, RESULT, ERROR];
}

/// A compiled pipeline.
#[derive(Debug)]
pub struct Pipeline {
    /// All its expressions and scripts, and the text of its files.
    pub program: Arc<Program>,
    /// Its steps in the order of the file.
    pub steps: Vec<Step>,
}
