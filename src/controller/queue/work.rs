//! A run in the queue, and its continuation.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::key::Key;
use crate::model::reason::Reason;
use crate::telemetry::metrics::ReconcileResult;

/// A run to execute.
#[derive(Debug)]
pub(crate) struct Work {
    /// The custom resource.
    pub key: Key,
    /// The first of the triggers.
    pub reason: Reason,
    /// True if the rate limit delayed it and the delay must be reported.
    pub rate_limited: bool,
    /// Cancelled when the run is superseded.
    pub cancel: CancellationToken,
}

/// A change that supersedes the current run of a custom resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interruption {
    /// The deletion of the CR. It always cancels the run.
    Deletion,
    /// A new generation. It does not cancel two consecutive runs, so that a CR that changes continuously
    /// is reconciled too.
    Generation,
    /// New labels, annotations or content of the same generation. Cancels the run within the rate limit.
    Content,
}

/// The continuation after a run.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Next {
    /// No run until the next trigger.
    Done,
    /// No run until the next trigger. The metrics count the given result.
    DoneAs {
        /// The result of the run in the metrics.
        ending: ReconcileResult,
    },
    /// A further run after a delay. A trigger starts it earlier.
    At {
        /// After this time,
        delay: Duration,
        /// for this reason.
        reason: Reason,
        /// The result of the run in the metrics.
        ending: ReconcileResult,
    },
    /// The run failed. The next one starts after the backoff, and not before this time.
    Retry {
        /// The delay that the server requested.
        not_before: Duration,
    },
    /// The run failed. The next one starts after exactly this time.
    Pause {
        /// After this time.
        delay: Duration,
    },
    /// The run was cancelled. The triggers during the run determine the next one.
    Requeue,
}

impl Next {
    /// Returns the result in the metrics.
    pub(super) fn ending(&self) -> ReconcileResult {
        match self {
            Self::Done => ReconcileResult::Success,
            Self::At { ending, .. } | Self::DoneAs { ending } => *ending,
            Self::Retry { .. } => ReconcileResult::Error,
            Self::Pause { .. } => ReconcileResult::TerminalError,
            Self::Requeue => ReconcileResult::Requeue,
        }
    }
}
