//! Pipelines: `tasks/main.yaml`, a list of steps, as a compiled graph.
//!
//! # Reading order
//! 1. [`step`], [`action`], [`tree`]: the compiled form of a pipeline
//! 2. [`load`](fn@load): parses (`parse`), compiles, and resolves names (`resolve`)
//! 3. [`execute`]: runs the steps; a layer above the host functions, which the other modules do not import
//! 4. [`convert`](fn@convert): prints the script that does the same
//!
//! [`history`], [`report`], [`selection`] and [`open_steps`] are the data that a run exchanges with the
//! executor.

mod action;
mod convert;
pub(crate) mod execute;
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
pub(crate) mod scope;
mod selection;
mod step;
mod tree;

pub use action::{Apply, Assert, Condition, Delete, Event, Manifests, Options, Role, Script};
pub use convert::convert;
pub use history::{StepHistory, StepRecord};
pub(crate) use load::{Source, load};
pub(crate) use open_steps::OpenSteps;
pub use report::{StepReport, StepState};
pub use role_calls::{RoleCall, role_calls};
pub use schema::schema;
pub use selection::StepSelection;
pub use step::{Action, Block, Include, Loop, Pipeline, Ready, Step};
pub use tree::{Expression, Query, SourceLocation, Test, TextPart, TextTemplate, Tree};
