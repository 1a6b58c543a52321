//! Errors of host functions.

use std::borrow::Cow;
use std::fmt;
use std::time::Duration;

use rhai::{Dynamic, Map};

/// An error of a host function. A script catches it as a map with `kind`, `code`, `reason`,
/// `message` and `retryable`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostError {
    /// The class, in `snake_case`: `not_found`, `conflict`, `invalid`, …
    pub kind: Cow<'static, str>,
    /// The HTTP status, if there was one.
    pub code: Option<u16>,
    /// The reason of the Kubernetes API, e.g. `NotFound`; can be empty.
    pub reason: String,
    /// The message: lower case, without a period.
    pub message: String,
    /// True if a later retry can succeed.
    pub retryable: bool,
    /// The least time before a retry.
    pub after: Option<Duration>,
}

impl HostError {
    /// Creates an error for which a retry is useless, e.g. for a wrong argument (`invalid`).
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

    /// Returns the error as a script sees it.
    pub(super) fn to_map(&self) -> Dynamic {
        Map::from_iter([
            ("kind".into(), self.kind.as_ref().into()),
            (
                "code".into(),
                self.code
                    .map_or(Dynamic::UNIT, |code| i64::from(code).into()),
            ),
            ("reason".into(), self.reason.as_str().into()),
            ("message".into(), self.message.as_str().into()),
            ("retryable".into(), self.retryable.into()),
        ])
        .into()
    }
}

impl fmt::Display for HostError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for HostError {}
