//! A run in the queue, and what follows it.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::key::Key;
use crate::model::reason::Reason;
use crate::telemetry::metrics::ReconcileResult;

/// A run to execute.
#[derive(Debug)]
pub struct Work {
    /// The custom resource.
    pub key: Key,
    /// The first of the triggers.
    pub reason: Reason,
    /// Failures in a row.
    pub failures: u32,
    /// True if the rate limit delayed it and the delay must be reported.
    pub rate_limited: bool,
    /// Cancelled when the run is superseded.
    pub cancel: CancellationToken,
}

/// A change that supersedes the current run of a custom resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interruption {
    /// The deletion of the CR. It cancels a run always.
    Deletion,
    /// A new generation. It cancels no two runs in a row: a CR that changes all the time gets done, too.
    Generation,
    /// New labels, annotations or content of the same generation, within the bound on runs.
    Content,
}

/// The continuation after a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Next {
    /// No run until the next trigger.
    Done,
    /// No run until the next trigger; the metrics count another result than success.
    DoneAs {
        /// The result of the run in the metrics.
        ending: ReconcileResult,
    },
    /// A further run after a while; triggers come first.
    At {
        /// After this time,
        delay: Duration,
        /// for this reason.
        reason: Reason,
        /// The result of the run in the metrics.
        ending: ReconcileResult,
    },
    /// The run failed: backoff, but not before this time.
    Retry {
        /// The delay that the server asked for.
        not_before: Duration,
    },
    /// The run failed, and is tried again after just this time.
    Pause {
        /// After this time.
        delay: Duration,
    },
    /// The run was cancelled: what came in meanwhile decides.
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
