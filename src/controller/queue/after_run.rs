//! Decides when a key runs again after a run.

use std::time::Duration;

use super::item::{Carryover, DelayCause, Schedule};
use super::work::Next;
use crate::backoff::Backoff;
use crate::clock::Instant;
use crate::model::reason::Reason;

/// A run that ended.
pub(super) struct EndedRun<'a> {
    /// The state of the key before the run.
    pub(super) before: Carryover,
    /// The first of the triggers during the run.
    pub(super) again: Option<Reason>,
    /// True if the object was deleted during the run.
    pub(super) forgotten: bool,
    /// The end that the worker reported.
    pub(super) next: &'a Next,
}

impl EndedRun<'_> {
    /// Returns the schedule of the key, and the state that it keeps.
    pub(super) fn schedule(&self, backoff: &Backoff, now: Instant) -> (Schedule, Carryover) {
        let before = self.before;
        let mut kept = Carryover {
            exempt: before.exempt,
            ..Carryover::default()
        };
        let schedule = match (self.next, self.again) {
            (_, Some(reason)) if self.forgotten || reason.cuts_backoff() => Schedule::Ready(reason),
            (_, None) if self.forgotten => Schedule::Drop,
            (Next::Requeue, Some(reason)) => {
                kept = before;
                Schedule::Ready(reason)
            }
            // The change that superseded it is not in the caches yet. Its trigger will follow.
            (Next::Requeue, None) => {
                kept.failures = before.failures.saturating_add(1);
                Schedule::Delayed {
                    delay: backoff.delay(kept.failures),
                    reason: Reason::Retry,
                    cause: DelayCause::Requeue,
                }
            }
            (Next::Done | Next::DoneAs { .. } | Next::At { .. }, Some(reason)) => {
                Schedule::Ready(reason)
            }
            (Next::Done | Next::DoneAs { .. }, None) => Schedule::Drop,
            (Next::At { delay, reason, .. }, None) => Schedule::Delayed {
                delay: *delay,
                reason: *reason,
                cause: DelayCause::Requeue,
            },
            (Next::Retry { not_before }, again) => {
                kept.failures = before.failures.saturating_add(1);
                kept.early_runs = before.early_runs;
                let delay = backoff.delay(kept.failures).max(*not_before);
                let earliest = kept.early_spacing().max(*not_before);
                after_failure(delay, earliest, again, now, &mut kept)
            }
            (Next::Pause { delay }, again) => after_failure(*delay, *delay, again, now, &mut kept),
        };
        // The protection from cancellation ends with the run after the cancelled one.
        kept.interrupted = before.interrupted && *self.next == Next::Requeue;
        (schedule, kept)
    }
}

/// Returns the schedule after a failure: the end of the backoff, or `earliest` if a trigger arrived during
/// the run.
fn after_failure(
    delay: Duration,
    earliest: Duration,
    again: Option<Reason>,
    now: Instant,
    kept: &mut Carryover,
) -> Schedule {
    let reason = again.map_or(Reason::Retry, |reason| reason.min(Reason::Retry));
    if again.is_some() && earliest < delay {
        kept.early_runs += 1;
        return Schedule::Delayed {
            delay: earliest,
            reason,
            cause: DelayCause::Early,
        };
    }
    Schedule::Delayed {
        delay,
        reason,
        cause: DelayCause::Backoff {
            earliest: now + earliest,
        },
    }
}
