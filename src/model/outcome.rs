//! The outcome of a run.

use std::time::Duration;

use super::PublicText;

/// The outcome of a run, which determines its next run, the status and the exit code.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The script ran to its end.
    Done,
    /// The script waits for an object. The role runs again when the object changes.
    Waiting {
        /// The object and its state.
        on: PublicText,
    },
    /// A retryable failure. The run is repeated after the backoff.
    Failed {
        /// The failure: script:line, object, message.
        message: PublicText,
        /// The minimum delay of the next run, from `Retry-After` of the server.
        after: Option<Duration>,
    },
    /// The script called `fail(message)`. The run is not retried.
    Stalled {
        /// The message of the script, with its `script:line`.
        message: PublicText,
    },
    /// Another controller reverts what the role applies.
    Conflict {
        /// Child, field and the other manager.
        message: PublicText,
    },
    /// The run was cancelled because of a newer generation, a shutdown, or the absence of the CR.
    Cancelled,
}

impl Outcome {
    /// Returns the label value for metrics and logs, which is one of a fixed set.
    pub fn as_str(&self) -> &'static str {
        match self {
            Self::Done => "done",
            Self::Waiting { .. } => "waiting",
            Self::Failed { .. } => "failed",
            Self::Stalled { .. } => "stalled",
            Self::Conflict { .. } => "fighting",
            Self::Cancelled => "cancelled",
        }
    }

    /// Returns the object that the run waits for, or the failure.
    pub fn message(&self) -> Option<&PublicText> {
        match self {
            Self::Waiting { on: message }
            | Self::Failed { message, .. }
            | Self::Stalled { message }
            | Self::Conflict { message } => Some(message),
            Self::Done | Self::Cancelled => None,
        }
    }
}
