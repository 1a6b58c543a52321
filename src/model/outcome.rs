//! How a run ended.

use std::time::Duration;

use super::PublicText;

/// How a run ended; what the controller, the status and the exit code follow from.
#[derive(Clone, Debug, PartialEq)]
pub enum Outcome {
    /// The script ran to its end.
    Done,
    /// The script waits for an object; the run resumes when that changes (product H2).
    Waiting {
        /// On what, for people: object and state.
        on: PublicText,
    },
    /// A retryable failure: backoff, then again.
    Failed {
        /// The failure, for people: script:line, object, message.
        message: PublicText,
        /// Not before this time, where the server said so (Retry-After).
        after: Option<Duration>,
    },
    /// `fail(message)`: no retry of its own.
    Stalled {
        /// The author's words, with script:line.
        message: PublicText,
    },
    /// The loop detector spoke (product C5).
    Conflict {
        /// Child, field and the other manager.
        message: PublicText,
    },
    /// The run was cancelled: a newer generation, shutdown, or the CR vanished.
    Cancelled,
}

impl Outcome {
    /// Label value for metrics and logs: a closed set.
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

    /// What a run waits for, or why it failed; nothing where nothing is wrong.
    pub fn message(&self) -> Option<&str> {
        match self {
            Self::Waiting { on: message }
            | Self::Failed { message, .. }
            | Self::Stalled { message }
            | Self::Conflict { message } => Some(message),
            Self::Done | Self::Cancelled => None,
        }
    }
}
