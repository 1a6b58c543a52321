//! Errors of a run, with the position in the script and the call chain.

mod host;
mod run_error;
mod show;
mod translate;
mod wording;

pub use host::HostError;
pub(super) use run_error::CallSite;
pub use run_error::{Error, ErrorKind, Frame};
pub(super) use translate::{panicked, report};
pub(super) use wording::lower_first;
