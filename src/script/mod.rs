//! The Rhai engine as roles see it: limits, values, errors, modules, the way to async host functions.
//!
//! Knows no Kubernetes. A [`Program`] is compiled once by an [`Engine`] and run any number of times,
//! each run being a [`Job`] that a [`Pool`] of own threads takes.

mod bridge;
mod engine;
mod error;
mod limits;
mod pool;
mod program;
mod run;
mod sources;
pub mod value;

pub use bridge::{block_on, end, include};
pub use engine::Engine;
pub use error::{Error, Frame, HostError, Kind};
pub use limits::{Limit, Limits};
pub use pool::{Job, Pool};
pub use program::Program;
pub use run::{Run, Variables};
pub use sources::Sources;
