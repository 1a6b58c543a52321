//! The error of a run, with the position in the script and the call chain.

use std::any::Any;
use std::sync::Arc;

use rhai::Dynamic;

use crate::script::host_error::HostError;
use crate::script::limits::Limit;

/// A call in the call chain of an error.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Frame {
    /// The function that was running; `None` at a file's top level. The name of a closure is `closure`. The
    /// name of an included program's top level is `role NAME`.
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

/// The class of an error.
#[derive(Clone, Debug)]
pub enum ErrorKind {
    /// The script threw this value.
    Thrown(Dynamic),
    /// A host function failed, and the script did not catch the error, or threw it again.
    Host(Box<HostError>),
    /// The run exceeded a limit.
    Limit(Limit),
    /// The run exceeded its deadline.
    Deadline,
    /// The run was cancelled.
    Cancelled,
    /// A host function panicked.
    Panic,
    /// A host function ended the run by [`crate::script::end`].
    Ended(Arc<dyn Any + Send + Sync>),
    /// Any other error of the script: a type mismatch, an index out of bounds, …
    Runtime,
}

impl ErrorKind {
    /// Returns the name of the class in metrics.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Thrown(_) => "thrown",
            Self::Host(_) => "host",
            Self::Limit(_) => "limit",
            Self::Deadline => "deadline",
            Self::Cancelled => "cancelled",
            Self::Panic => "panic",
            Self::Ended(_) => "ended",
            Self::Runtime => "runtime",
        }
    }
}

/// A failed run. `{}` is one line, `file:line:column: message`; `{:#}` adds the source line with a caret,
/// the call chain and a hint.
#[derive(Clone, Debug)]
pub struct Error {
    /// The class.
    pub kind: ErrorKind,
    /// The message: lower case, without a period.
    pub message: String,
    /// The hint.
    pub hint: Option<String>,
    /// The call chain, innermost first; empty if no code of the script ran.
    pub trace: Vec<Frame>,
}

impl Error {
    /// Creates the error of a run that ended before its script began.
    pub(in crate::script) fn without_trace(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self {
            kind,
            message: message.into(),
            hint: None,
            trace: Vec::new(),
        }
    }

    /// Returns the name of the limit that ended the run, for metrics, if one did.
    pub fn limit(&self) -> Option<&'static str> {
        match &self.kind {
            ErrorKind::Limit(limit) => Some(limit.name()),
            ErrorKind::Deadline => Some("time"),
            _ => None,
        }
    }

    /// Returns the position in the form `web/tasks/main.rhai:12:5`, if it is known.
    pub fn location(&self) -> Option<String> {
        self.trace.first().map(Frame::location)
    }
}

impl std::error::Error for Error {}
