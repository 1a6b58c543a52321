//! The state of one key in the queue.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::lanes::{Lane, Ticket};
use crate::clock::Instant;
use crate::model::reason::Reason;

/// Early runs of a key that keeps failing are this far apart, doubling up to [`MAX_EARLY_SPACING`]: a
/// trigger may say that the cause is gone, and must not make a busy loop if it is not.
const EARLY_SPACING: Duration = Duration::from_secs(1);
const MAX_EARLY_SPACING: Duration = Duration::from_secs(10);

/// A key that is queued, delayed or running.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) phase: Phase,
    pub(super) rank: u64,
    pub(super) carryover: Carryover,
}

/// The state of a key that outlasts a phase.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carryover {
    /// Failures in a row.
    pub(super) failures: u32,
    /// Runs since the first of these failures that a trigger started before the end of the backoff.
    pub(super) early_runs: u32,
    /// True if a newer generation cut the last run short: the next one may finish.
    pub(super) interrupted: bool,
    /// True if the rate limit does not apply to the next run.
    pub(super) exempt: bool,
    /// True if the next run must report that the rate limit delayed it.
    pub(super) rate_limited: bool,
}

impl Carryover {
    /// Returns the time that a trigger must leave after a failure.
    pub(super) fn early_spacing(&self) -> Duration {
        let doublings = self.early_runs.min(8);
        (EARLY_SPACING * (1 << doublings)).min(MAX_EARLY_SPACING)
    }
}

/// A trigger.
#[derive(Clone, Copy, Debug)]
pub(super) struct Trigger {
    pub(super) reason: Reason,
    pub(super) rank: u64,
    /// True if the rate limit does not apply to it.
    pub(super) exempt: bool,
}

impl Trigger {
    /// A trigger to which the rate limit applies unless a user made it.
    pub(super) fn new(reason: Reason, rank: u64) -> Self {
        let exempt = matches!(reason, Reason::Created | Reason::Requested);
        Self {
            reason,
            rank,
            exempt,
        }
    }
}

/// The reason that a key waits for its timer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DelayCause {
    /// A run was asked for later; any trigger comes first.
    Requeue,
    /// The last run failed. A trigger brings the next one forward, but not before this time.
    Backoff {
        /// The earliest time of the next run.
        earliest: Instant,
    },
    /// A trigger brought the run forward.
    Early,
    /// It ran too often: only an exempt trigger comes first.
    RateLimit,
}

#[derive(Debug)]
pub(super) enum Phase {
    /// Waits for its timer.
    Delayed {
        due: Instant,
        ticket: Ticket,
        reason: Reason,
        cause: DelayCause,
    },
    /// Waits for a slot.
    Ready {
        lane: Lane,
        ticket: Ticket,
        reason: Reason,
        since: Instant,
    },
    /// A worker has it.
    Running {
        /// The first of the triggers that came in meanwhile.
        again: Option<Reason>,
        since: Instant,
        cancel: CancellationToken,
        /// True if the object is gone, and nothing is to be kept of the key.
        forgotten: bool,
    },
}

/// The schedule of a key after a run.
#[derive(Clone, Copy)]
pub(super) enum Schedule {
    /// The scheduler drops the key.
    Drop,
    /// It is queued.
    Ready(Reason),
    /// It waits.
    Delayed {
        delay: Duration,
        reason: Reason,
        cause: DelayCause,
    },
}
