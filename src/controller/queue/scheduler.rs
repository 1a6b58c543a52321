//! The state machine of the queue, without tasks and locks: ready, delayed and running keys.
//!
//! Each key is in exactly one [`Phase`]. Idle keys without state are not stored.

use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use tokio_util::sync::CancellationToken;

use super::after_run::EndedRun;
use super::item::{Carryover, DelayCause, Item, Phase, Schedule, Trigger};
use super::key::{Key, KindId};
use super::lanes::{Lane, Lanes, Ticket};
use super::rate::{Buckets, RunRate};
use super::work::{Interruption, Next, Work};
use crate::backoff::Backoff;
use crate::clock::Instant;
use crate::model::reason::Reason;
use crate::telemetry::metrics::ControllerMetrics;

/// The state of the queue.
#[derive(Debug)]
pub(super) struct Scheduler {
    limit: usize,
    running: usize,
    backoff: Backoff,
    buckets: Buckets,
    kinds: Vec<Kind>,
    /// The kind with the next turn.
    turn: usize,
    items: HashMap<Key, Item>,
    timers: BTreeMap<(Instant, Ticket), Key>,
    tickets: Ticket,
}

#[derive(Debug)]
struct Kind {
    limit: usize,
    running: usize,
    ready: usize,
    lanes: Lanes,
    metrics: ControllerMetrics,
}

impl Scheduler {
    pub(super) fn new(limit: usize, backoff: Backoff, rate: RunRate) -> Self {
        Self {
            limit,
            running: 0,
            backoff,
            buckets: Buckets::new(rate),
            kinds: Vec::new(),
            turn: 0,
            items: HashMap::new(),
            timers: BTreeMap::new(),
            tickets: 0,
        }
    }

    pub(super) fn add_kind(&mut self, limit: usize, metrics: ControllerMetrics) -> KindId {
        metrics.bound(limit);
        self.kinds.push(Kind {
            limit,
            running: 0,
            ready: 0,
            lanes: Lanes::default(),
            metrics,
        });
        KindId(self.kinds.len() - 1)
    }

    pub(super) fn set_limit(&mut self, kind: KindId, limit: usize) {
        let kind = &mut self.kinds[kind.0];
        kind.limit = limit;
        kind.metrics.bound(limit);
    }

    /// Returns whether no key runs or waits for a slot. A delayed one can follow.
    #[cfg(any(test, feature = "scenario-tests"))]
    pub(super) fn is_idle(&self) -> bool {
        self.running == 0 && self.kinds.iter().all(|kind| kind.ready == 0)
    }

    /// Adds a trigger.
    pub(super) fn add(&mut self, key: &Key, trigger: Trigger, now: Instant) {
        let Trigger {
            reason,
            rank,
            exempt,
        } = trigger;
        let Some(item) = self.items.get_mut(key) else {
            let fresh = Carryover {
                exempt,
                ..Carryover::default()
            };
            self.make_ready(key.clone(), reason, rank, now, fresh);
            return;
        };
        item.rank = rank.max(item.rank);
        item.carryover.exempt |= exempt;
        match &mut item.phase {
            Phase::Running { again, .. } => merge(again, reason),
            Phase::Ready {
                lane,
                reason: known,
                ticket,
                ..
            } => {
                *known = reason.min(*known);
                let better = lane_of(reason, item.rank);
                if better < *lane {
                    self.tickets += 1;
                    (*lane, *ticket) = (better, self.tickets);
                    self.kinds[key.kind.0]
                        .lanes
                        .push(better, self.tickets, key.clone());
                }
            }
            Phase::Delayed { .. } => self.add_delayed(key, trigger, now),
        }
    }

    /// Adds a trigger of a key that waits for its timer.
    fn add_delayed(&mut self, key: &Key, trigger: Trigger, now: Instant) {
        let Trigger { reason, exempt, .. } = trigger;
        let Some(item) = self.items.get_mut(key) else {
            return;
        };
        let Phase::Delayed {
            due,
            ticket,
            reason: known,
            cause,
        } = &mut item.phase
        else {
            return;
        };
        let (due, ticket, cause) = (*due, *ticket, *cause);
        match cause {
            DelayCause::Backoff { earliest } if !reason.cuts_backoff() => {
                let first = reason.min(*known);
                *known = first;
                let early = earliest.max(now);
                if early < due {
                    item.carryover.early_runs += 1;
                    self.timers.remove(&(due, ticket));
                    let phase = self.delayed(key, early, first, DelayCause::Early);
                    if let Some(item) = self.items.get_mut(key) {
                        item.phase = phase;
                    }
                }
            }
            DelayCause::Early if !reason.cuts_backoff() => *known = reason.min(*known),
            DelayCause::RateLimit if !exempt => *known = reason.min(*known),
            _ => {
                self.timers.remove(&(due, ticket));
                let (rank, mut carryover) = (item.rank, item.carryover);
                if reason.cuts_backoff() {
                    // The cause of the failures may have disappeared, so the count starts again.
                    (carryover.failures, carryover.early_runs) = (0, 0);
                }
                self.make_ready(key.clone(), reason, rank, now, carryover);
            }
        }
    }

    /// Cancels the current run of a key, because of a newer generation or because the object was deleted.
    pub(super) fn interrupt(&mut self, key: &Key, newer: Interruption) {
        if let Some(item) = self.items.get_mut(key)
            && let Phase::Running { cancel, .. } = &item.phase
            && (newer == Interruption::Deletion || !item.carryover.interrupted)
        {
            cancel.cancel();
            item.carryover.interrupted = true;
        }
    }

    /// Removes a key. Its current run is cancelled.
    pub(super) fn forget(&mut self, key: &Key) {
        let Some(item) = self.items.get_mut(key) else {
            return;
        };
        match &mut item.phase {
            Phase::Running {
                again,
                cancel,
                forgotten,
                ..
            } => {
                *again = None;
                *forgotten = true;
                cancel.cancel();
                return;
            }
            Phase::Delayed { due, ticket, .. } => {
                self.timers.remove(&(*due, *ticket));
            }
            Phase::Ready { .. } => self.kinds[key.kind.0].ready -= 1,
        }
        self.items.remove(key);
    }

    /// Returns the next work if there is a slot for it. First makes the due keys ready.
    pub(super) fn take(&mut self, now: Instant) -> Option<Work> {
        self.wake(now);
        if self.running >= self.limit {
            return None;
        }
        let kinds = self.kinds.len();
        for offset in 0..kinds {
            let index = (self.turn + offset) % kinds;
            let kind = &mut self.kinds[index];
            if kind.running >= kind.limit || kind.ready == 0 {
                continue;
            }
            let items = &self.items;
            let counts = |key: &Key, ticket| match items.get(key).map(|item| &item.phase) {
                Some(Phase::Ready { ticket: valid, .. }) => *valid == ticket,
                _ => false,
            };
            if let Some(key) = kind.lanes.pop(counts) {
                self.turn = (index + 1) % kinds;
                return self.start(key, now);
            }
        }
        None
    }

    fn start(&mut self, key: Key, now: Instant) -> Option<Work> {
        let item = self.items.get_mut(&key)?;
        let Phase::Ready { reason, since, .. } = item.phase else {
            return None;
        };
        let rate_limited = std::mem::take(&mut item.carryover.rate_limited);
        if !std::mem::take(&mut item.carryover.exempt) {
            self.buckets.take(&key, now);
        }
        let cancel = CancellationToken::new();
        item.phase = Phase::Running {
            again: None,
            since: now,
            cancel: cancel.clone(),
            forgotten: false,
        };
        self.running += 1;
        let kind = &mut self.kinds[key.kind.0];
        kind.running += 1;
        kind.ready -= 1;
        kind.metrics.taken(now - since, kind.ready);
        Some(Work {
            key,
            reason,
            rate_limited,
            cancel,
        })
    }

    /// Records the end of a run.
    pub(super) fn finish(&mut self, key: &Key, next: &Next, now: Instant) {
        let Some(item) = self.items.remove(key) else {
            return;
        };
        let Phase::Running {
            again,
            since,
            forgotten,
            ..
        } = item.phase
        else {
            return;
        };
        self.running -= 1;
        let kind = &mut self.kinds[key.kind.0];
        kind.running -= 1;
        kind.metrics.finished(now - since, next.ending());
        let run = EndedRun {
            before: item.carryover,
            again,
            forgotten,
            next,
        };
        let (schedule, kept) = run.schedule(&self.backoff, now);
        if let (Next::Retry { .. }, Schedule::Delayed { .. }) = (next, &schedule) {
            kind.metrics.retried();
        }
        self.apply_schedule(key, schedule, item.rank, now, kept);
    }

    fn apply_schedule(
        &mut self,
        key: &Key,
        schedule: Schedule,
        rank: u64,
        now: Instant,
        kept: Carryover,
    ) {
        match schedule {
            Schedule::Drop => {}
            Schedule::Ready(reason) => self.make_ready(key.clone(), reason, rank, now, kept),
            Schedule::Delayed {
                delay,
                reason,
                cause,
            } => {
                let phase = self.delayed(key, now + delay, reason, cause);
                self.insert(key.clone(), phase, rank, kept);
            }
        }
    }

    /// Sets a key's timer.
    fn delayed(&mut self, key: &Key, due: Instant, reason: Reason, cause: DelayCause) -> Phase {
        self.tickets += 1;
        let ticket = self.tickets;
        self.timers.insert((due, ticket), key.clone());
        Phase::Delayed {
            due,
            ticket,
            reason,
            cause,
        }
    }

    fn insert(&mut self, key: Key, phase: Phase, rank: u64, carryover: Carryover) {
        let item = Item {
            phase,
            rank,
            carryover,
        };
        self.items.insert(key, item);
    }

    /// Returns the time at which the next key becomes ready without a trigger.
    pub(super) fn next_due(&self) -> Option<Instant> {
        self.timers.first_key_value().map(|((due, _), _)| *due)
    }

    /// Cancels all runs.
    pub(super) fn interrupt_all(&self) {
        for item in self.items.values() {
            if let Phase::Running { cancel, .. } = &item.phase {
                cancel.cancel();
            }
        }
    }

    /// Updates the gauges of current runs.
    pub(super) fn report_progress(&mut self, now: Instant) {
        self.buckets.purge(now);
        let mut progress = vec![(Duration::ZERO, Duration::ZERO); self.kinds.len()];
        for (key, item) in &self.items {
            if let Phase::Running { since, .. } = item.phase {
                let (sum, longest) = &mut progress[key.kind.0];
                *sum += now - since;
                *longest = (*longest).max(now - since);
            }
        }
        for (kind, (sum, longest)) in self.kinds.iter().zip(progress) {
            kind.metrics.in_progress(sum, longest);
        }
    }

    fn wake(&mut self, now: Instant) {
        while let Some(entry) = self.timers.first_entry()
            && entry.key().0 <= now
        {
            let key = entry.remove();
            let Some(item) = self.items.get(&key) else {
                continue;
            };
            if let Phase::Delayed { reason, .. } = item.phase {
                let (rank, carryover) = (item.rank, item.carryover);
                self.make_ready(key, reason, rank, now, carryover);
            }
        }
    }

    /// Queues a key, or delays it if the rate limit applies.
    fn make_ready(
        &mut self,
        key: Key,
        reason: Reason,
        rank: u64,
        now: Instant,
        mut kept: Carryover,
    ) {
        if let Some(due) = self.buckets.next_token(&key, now).filter(|_| !kept.exempt) {
            kept.rate_limited |= self.buckets.report(&key, now);
            self.kinds[key.kind.0].metrics.rate_limited();
            let phase = self.delayed(&key, due, reason, DelayCause::RateLimit);
            self.insert(key, phase, rank, kept);
            return;
        }
        self.tickets += 1;
        let (ticket, lane) = (self.tickets, lane_of(reason, rank));
        let kind = &mut self.kinds[key.kind.0];
        kind.lanes.push(lane, ticket, key.clone());
        kind.ready += 1;
        kind.metrics.added(kind.ready);
        let phase = Phase::Ready {
            lane,
            ticket,
            reason,
            since: now,
        };
        self.insert(key, phase, rank, kept);
    }
}

fn merge(known: &mut Option<Reason>, reason: Reason) {
    *known = Some(known.map_or(reason, |known| known.min(reason)));
}

fn lane_of(reason: Reason, rank: u64) -> Lane {
    match reason {
        Reason::Deleted | Reason::Requested => Lane::Urgent,
        Reason::Startup | Reason::Role | Reason::Period => Lane::Backlog { rank },
        _ => Lane::Live,
    }
}

#[cfg(test)]
impl Scheduler {
    /// Returns the number of current runs.
    pub(super) fn running(&self) -> usize {
        self.running
    }

    /// Returns the number of consecutive failures of a key.
    pub(super) fn failures(&self, key: &Key) -> u32 {
        self.items
            .get(key)
            .map_or(0, |item| item.carryover.failures)
    }
}
