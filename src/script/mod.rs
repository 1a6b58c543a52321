//! Compiles and runs Rhai scripts, with limits, positions in errors, and async host functions.
//!
//! This module has no Kubernetes semantics. An [`Engine`] compiles a [`Program`] once. A [`Pool`] of
//! threads executes any number of runs of it, each as a [`Job`].
//!
//! # Runs
//! - All functions and modules of the script see the [`Variables`] of the run, as constants.
//! - Host functions get their state by [`Run::state`], and wait for async code by [`block_on`].
//! - The result is a value, or an [`Error`] with the position and the call chain. A script cannot catch
//!   [`end`], an exceeded [`Limits`] or deadline, or a cancellation.
//!
//! # Differences from plain Rhai
//! - An absent property of a map is `()`. Any property of `()`, including `tag`, is an error.
//! - Reserved words are allowed after a dot and as keys of maps.
//! - `import "install"` finds `install.rhai` beside the entry, or else in the role's root. `"./x"` is
//!   beside the importing file. Files outside the role cannot be imported.
//! - `eval` and `timestamp` do not exist. `sleep` is an error with a hint.

mod bridge;
mod builtin;
mod call_site;
mod check;
mod compile;
mod engine;
mod error;
mod host_error;
mod limits;
mod modules;
mod names;
mod native_step;
mod nesting;
mod panics;
mod parsed_file;
mod pool;
mod program;
mod run;
mod setup;
mod snippet;
mod snippet_compiler;
mod sources;
mod syntax;
mod syntax_hints;
#[cfg(test)]
mod tests;
mod thread_context;
pub mod value;
mod variable_usage;
mod worker;

pub use bridge::{
    block_on, checkpoint, count_object, end, evaluate, include, put_variable, set_variable, tick,
    variable,
};
pub use engine::Engine;
pub use error::{Error, ErrorKind, Frame};
pub use host_error::HostError;
pub use limits::{Limit, Limits};
pub use native_step::{NativeEntry, StepFailure, call_at, try_step};
pub use pool::{Job, Pool};
pub use program::Program;
pub use run::{Run, Variables};
pub use snippet::{PositionMap, Snippet, SnippetForm, SnippetId};
pub use sources::Sources;
pub use variable_usage::{PropertyUse, VariableUse};
