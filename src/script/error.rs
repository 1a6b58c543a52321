//! How a run fails, with the place in the script and the way that led there.

use std::any::Any;
use std::borrow::Cow;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use rhai::{Dynamic, EvalAltResult};

use super::limits::Limit;

/// What a host function failed with; a script catches it as a map with `kind`, `code`, `reason`,
/// `message` and `retryable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    /// The class, in `snake_case`: `not_found`, `conflict`, `invalid`, …
    pub kind: Cow<'static, str>,
    /// The HTTP status, where there was one.
    pub code: Option<u16>,
    /// The API's own word for it, e.g. `NotFound`; may be empty.
    pub reason: String,
    /// For people: lower case, no period.
    pub message: String,
    /// Trying again later may help.
    pub retryable: bool,
    /// Not before this has passed.
    pub after: Option<Duration>,
}

impl HostError {
    /// An error that trying again does not mend, e.g. a wrong argument (`invalid`).
    pub fn new(kind: impl Into<Cow<'static, str>>, message: impl Into<String>) -> Self {
        Self {
            kind: kind.into(),
            code: None,
            reason: String::new(),
            message: message.into(),
            retryable: false,
            after: None,
        }
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HostError {}

impl From<HostError> for Box<EvalAltResult> {
    fn from(error: HostError) -> Self {
        error.message.into()
    }
}

/// One place in a script, innermost first in [`Error::trace`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function that was running; none at a file's top level.
    pub function: Option<String>,
    /// The file, with the name of its program: `web/tasks/main.rhai`.
    pub file: String,
    /// Line from 1; 0 if unknown.
    pub line: usize,
    /// Column from 1; 0 if unknown.
    pub column: usize,
    /// The text of that line, if known.
    pub source: Option<String>,
}

/// Why a run failed.
#[derive(Clone, Debug)]
pub enum Kind {
    /// A `throw` of the script with this value.
    Thrown(Dynamic),
    /// A host function failed and the script did not catch it.
    Host(HostError),
    /// A limit of the run was reached.
    Limit(Limit),
    /// The run was not done in time.
    Deadline,
    /// The run was cancelled.
    Cancelled,
    /// A host function panicked.
    Panic,
    /// A host function ended the run by [`super::end`].
    Ended(Arc<dyn Any + Send + Sync>),
    /// Any other error of the script: a type mismatch, an index out of bounds, …
    Runtime,
}

/// A failed run. `{}` is one line, `file:line:column: message`; `{:#}` adds the source line with a caret
/// and the call chain.
#[derive(Clone, Debug)]
pub struct Error {
    /// What happened.
    pub kind: Kind,
    /// For people: lower case, no period.
    pub message: String,
    /// Where, innermost first.
    pub trace: Vec<Frame>,
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
