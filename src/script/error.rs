//! Errors of a run, with the position in the script and the call chain.

mod run_error;
mod show;
mod translate;
mod wording;

pub use run_error::{Error, ErrorKind, Frame};
pub(super) use translate::{panicked, report};
pub(super) use wording::lower_first;
