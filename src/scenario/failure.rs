//! The failure of a stage, with its position.

use std::fmt::{self, Write as _};
use std::path::Path;

use crate::cluster;
use crate::model::yaml::Position;
use crate::script;

/// The reason that a stage failed: a message, details, and the position of the expectation.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub(crate) struct Failure {
    /// `molecule-tests/web/verify.yaml:3:5`; empty if no file caused the failure.
    #[serde(rename = "at")]
    pub location: String,
    /// The message, one line.
    pub message: String,
    /// A diff, the line of the script or the answer of the server: several lines, or empty.
    pub details: String,
}

impl Failure {
    /// Creates a failure without position and details.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// Adds details, unless it has some.
    pub(super) fn with_details(mut self, details: impl Into<String>) -> Self {
        if self.details.is_empty() {
            self.details = details.into();
        }
        self
    }

    /// Adds a position, unless it has one.
    pub(super) fn at(mut self, file: &Path, position: Position) -> Self {
        if self.location.is_empty() {
            self.location = file.display().to_string();
            for number in [position.line, position.column] {
                if number == 0 {
                    break;
                }
                // Writing to a string cannot fail.
                let _ = write!(self.location, ":{number}");
            }
        }
        self
    }

    /// Creates the failure of a request that the cluster refused.
    pub(super) fn from_cluster_error(what: &str, error: &cluster::Error) -> Self {
        Self::new(format!("{what}: {error}"))
    }
}

/// A script's error: the lines after the first, the source line and the calls are details.
impl From<&script::Error> for Failure {
    fn from(error: &script::Error) -> Self {
        let (first, rest) = error
            .message
            .split_once('\n')
            .unwrap_or((&error.message, ""));
        let whole = format!("{error:#}");
        let below = whole
            .split_once(&error.message)
            .map_or("", |(_, below)| below);
        let details = [rest.trim_end(), below.trim_matches('\n')];
        let details: Vec<_> = details
            .into_iter()
            .filter(|part| !part.is_empty())
            .collect();
        Self {
            location: error.location().unwrap_or_default(),
            message: first.to_owned(),
            details: details.join("\n"),
        }
    }
}

/// `place: message`, and the details below.
impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if !self.location.is_empty() {
            write!(f, "{}: ", self.location)?;
        }
        f.write_str(&self.message)?;
        for line in self.details.lines() {
            write!(f, "\n  {line}")?;
        }
        Ok(())
    }
}
