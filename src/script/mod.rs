//! The Rhai engine as roles see it: limits, values, errors, modules, the way to async host functions.
//!
//! Knows no Kubernetes. A [`Program`] is compiled once by an [`Engine`] and run any number of times,
//! each run being a [`Job`] that a [`Pool`] of own threads takes.
//!
//! # A run
//! - sees its [`Variables`] in every function and module, as constants;
//! - calls host functions, which reach their state by [`Run::state`] and wait by [`block_on`];
//! - ends with a value, an [`Error`] that shows where in the script and how it got there, or by [`end`].
//!   What ends a run from outside (its deadline, [`Limits`], cancellation, [`end`]) cannot be caught.
//!
//! # What differs from plain Rhai
//! - a map's property that is absent reads as `()`, any property of `()` is an error, `tag` included;
//! - reserved words may follow a dot and be keys of maps;
//! - `import "install"` finds `install.rhai` beside the entry, else from the role's root; `"./x"` beside
//!   the importing file; nothing outside the role;
//! - there is no `eval`, no `timestamp`, and `sleep` is an error that says what to use.

mod bridge;
mod builtin;
mod check;
mod compile;
mod engine;
mod error;
mod limits;
mod modules;
mod names;
mod native_step;
mod nesting;
mod panics;
mod pool;
mod program;
mod run;
mod snippet;
mod snippet_compiler;
mod sources;
mod syntax;
#[cfg(test)]
mod tests;
mod thread_context;
pub mod value;
mod variable_usage;
mod worker;

pub use bridge::{
    block_on, checkpoint, end, evaluate, include, put_variable, set_variable, tick, variable,
};
pub use engine::Engine;
pub use error::{Error, ErrorKind, Frame, HostError};
pub use limits::{Limit, Limits};
pub use native_step::{NativeEntry, StepFailure, call_at, try_step};
pub use pool::{Job, Pool};
pub use program::Program;
pub use run::{Run, Variables};
pub use snippet::{PositionMap, Snippet, SnippetForm, SnippetId};
pub use sources::Sources;
pub use variable_usage::{PropertyUse, VariableUse};
