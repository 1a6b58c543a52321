//! The queue of custom resources to reconcile.
//!
//! # Guarantees
//! - One run at a time per key. A trigger during the run causes one more run afterwards.
//! - A key is in the queue once, regardless of the number of triggers. Its run gets the first reason in
//!   the order of [`Reason`].
//! - Kinds with a free slot take turns. Within a kind, deletions and requests come first, then triggers in
//!   the order of arrival, then the backlog of a start-up.
//! - The number of concurrent runs does not exceed the limit of a kind and of the queue.
//! - After a failure a key waits for its backoff. A trigger brings the next run forward: a new generation,
//!   a deletion or a request at once, any other one by up to a second, doubling to ten seconds while the
//!   key keeps failing.
//! - A key does not run more often than [`RunRate`] allows, except for a new generation, a deletion or a
//!   request.
//!
//! # Assumptions
//! The caller finishes each [`Work`] with [`Queue::finish`]. [`Slot`] does this also when a run panics.

mod after_run;
mod item;
mod key;
mod lanes;
mod rate;
mod scheduler;
mod work;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;

use self::item::Trigger;
pub(crate) use self::key::{Key, KindId};
pub(crate) use self::rate::RunRate;
use self::scheduler::Scheduler;
pub(crate) use self::work::{Interruption, Next, Work};
use crate::backoff::Backoff;
use crate::clock;
use crate::model::reason::Reason;
use crate::telemetry::metrics::ControllerMetrics;

/// The queue. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Queue(Arc<Shared>);

#[derive(Debug)]
struct Shared {
    state: Mutex<Scheduler>,
    changed: Notify,
}

impl Queue {
    /// Creates a queue with a limit of concurrent runs, and a limit of runs per key and minute.
    pub(crate) fn new(limit: usize, backoff: Backoff, rate: RunRate) -> Self {
        Self(Arc::new(Shared {
            state: Mutex::new(Scheduler::new(limit, backoff, rate)),
            changed: Notify::new(),
        }))
    }

    /// Adds a kind with its limit of concurrent runs.
    pub(crate) fn add_kind(&self, limit: usize, metrics: ControllerMetrics) -> KindId {
        self.0.state.lock().add_kind(limit, metrics)
    }

    /// Changes the limit of a kind.
    pub(crate) fn set_limit(&self, kind: KindId, limit: usize) {
        self.0.state.lock().set_limit(kind, limit);
        self.0.changed.notify_one();
    }

    /// Adds a trigger. In a backlog, the highest `rank` is first.
    pub(crate) fn add(&self, key: &Key, reason: Reason, rank: u64) {
        let trigger = Trigger::new(reason, rank);
        self.0.state.lock().add(key, trigger, clock::now());
        self.0.changed.notify_one();
    }

    /// Adds a trigger, and cancels a run of the key that it supersedes.
    pub(crate) fn supersede(&self, key: &Key, reason: Reason, rank: u64, newer: Interruption) {
        let trigger = Trigger {
            exempt: newer != Interruption::Content,
            ..Trigger::new(reason, rank)
        };
        let mut state = self.0.state.lock();
        // Cancels first, so that the run that this trigger starts is not cancelled.
        state.interrupt(key, newer);
        state.add(key, trigger, clock::now());
        drop(state);
        self.0.changed.notify_one();
    }

    /// Cancels all runs.
    pub(crate) fn interrupt_all(&self) {
        self.0.state.lock().interrupt_all();
    }

    /// Removes a key and cancels its run.
    pub(crate) fn forget(&self, key: &Key) {
        self.0.state.lock().forget(key);
    }

    /// Waits for the next run and a slot for it. Must not be called concurrently.
    pub(crate) async fn next(&self) -> Slot {
        loop {
            let due = {
                let mut state = self.0.state.lock();
                if let Some(work) = state.take(clock::now()) {
                    return Slot::new(work, self.clone());
                }
                state.next_due()
            };
            tokio::select! {
                () = self.0.changed.notified() => {}
                () = sleep_until(due) => {}
            }
        }
    }

    /// Returns whether no key runs or waits for a slot. A delayed one can follow.
    #[cfg(any(test, feature = "scenario-tests"))]
    pub(crate) fn is_idle(&self) -> bool {
        self.0.state.lock().is_idle()
    }

    /// Updates the metrics of current runs.
    pub(crate) fn report_progress(&self) {
        self.0.state.lock().report_progress(clock::now());
    }

    fn finish(&self, key: &Key, then: &Next) {
        self.0.state.lock().finish(key, then, clock::now());
        self.0.changed.notify_one();
    }
}

async fn sleep_until(due: Option<clock::Instant>) {
    match due {
        Some(due) => clock::sleep_until(due).await,
        None => std::future::pending().await,
    }
}

/// A run that occupies a slot. A drop without an end counts as a failure.
#[derive(Debug)]
pub(crate) struct Slot {
    work: Work,
    queue: Queue,
    then: Next,
}

impl Slot {
    fn new(work: Work, queue: Queue) -> Self {
        Self {
            work,
            queue,
            then: Next::Retry {
                not_before: Duration::ZERO,
            },
        }
    }

    /// Returns the run to execute.
    pub(crate) fn work(&self) -> &Work {
        &self.work
    }

    /// Frees the slot; `then` is the continuation.
    pub(crate) fn finish(mut self, then: Next) {
        self.then = then;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.queue.finish(&self.work.key, &self.then);
    }
}

#[cfg(test)]
mod tests;
