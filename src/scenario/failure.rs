//! What went wrong in a scenario, and where.

use std::fmt::{self, Write as _};
use std::path::Path;

use crate::cluster;
use crate::model::yaml::Position;
use crate::script;

/// Why a stage failed: a line for people, details below it, and the place that says what was expected.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Failure {
    /// `molecule-tests/web/verify.yaml:3:5`; empty where no file is at fault.
    #[serde(rename = "at")]
    pub location: String,
    /// What is wrong, in a line.
    pub message: String,
    /// A diff, the script's line, what the server said; may be empty, and has several lines.
    pub details: String,
}

impl Failure {
    /// A failure without place and details.
    pub(super) fn new(message: impl Into<String>) -> Self {
        Self {
            message: message.into(),
            ..Self::default()
        }
    }

    /// The same with details, unless it has some.
    pub(super) fn with_details(mut self, details: impl Into<String>) -> Self {
        if self.details.is_empty() {
            self.details = details.into();
        }
        self
    }

    /// The same at a place, unless it has one.
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

    /// Of a request that the cluster refused.
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
            location: error.place().unwrap_or_default(),
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
