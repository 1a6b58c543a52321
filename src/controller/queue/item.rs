//! The state of one key in the queue.

use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::lanes::{Lane, Ticket};
use crate::clock::Instant;
use crate::model::reason::Reason;

/// The initial distance between early runs of a failing key, which doubles up to [`MAX_EARLY_SPACING`]. A
/// trigger can mean that the cause of the failure disappeared, but must not cause a busy loop.
const EARLY_SPACING: Duration = Duration::from_secs(1);
const MAX_EARLY_SPACING: Duration = Duration::from_secs(10);

/// A key that is queued, delayed or running.
#[derive(Debug)]
pub(super) struct Item {
    pub(super) phase: Phase,
    pub(super) rank: u64,
    pub(super) carryover: Carryover,
}

/// The state of a key that the next phase keeps.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Carryover {
    /// The number of consecutive failures.
    pub(super) failures: u32,
    /// The number of runs since the first of these failures that a trigger started before the end of the
    /// backoff.
    pub(super) early_runs: u32,
    /// True if a newer generation cancelled the last run. The next run is then not cancelled.
    pub(super) interrupted: bool,
    /// True if the rate limit does not apply to the next run.
    pub(super) exempt: bool,
    /// True if the next run must report that the rate limit delayed it.
    pub(super) rate_limited: bool,
}

impl Carryover {
    /// Returns the minimum time between a failure and an early run.
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
    /// A later run was requested. Any trigger starts it earlier.
    Requeue,
    /// The last run failed. A trigger brings the next one forward, but not before this time.
    Backoff {
        /// The earliest time of the next run.
        earliest: Instant,
    },
    /// A trigger brought the run forward.
    Early,
    /// The rate limit delays it. Only an exempt trigger starts it earlier.
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
    /// A worker executes it.
    Running {
        /// The first of the triggers during the run.
        again: Option<Reason>,
        since: Instant,
        cancel: CancellationToken,
        /// True if the object was deleted, so the key must be removed.
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
