//! The leadership of this process, and the deadline of its writes.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::clock::{self, Clock, Instant};

/// The leadership of this process. Clones share it.
#[derive(Clone, Debug)]
pub(crate) struct Leadership(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    leads: watch::Sender<bool>,
    term: Mutex<LeaderTerm>,
    clock: Clock,
}

/// The term in which this process may write.
#[derive(Clone, Copy, Debug)]
enum LeaderTerm {
    /// Another replica leads, or none.
    None,
    /// Ends with the first of both: the monotonic clock stops while a virtual machine is suspended, the wall clock
    /// does not.
    Until { deadline: Instant, wall: Timestamp },
}

impl Leadership {
    pub(super) fn standby(clock: Clock) -> Self {
        Self(Arc::new(Inner {
            leads: watch::Sender::new(false),
            term: Mutex::new(LeaderTerm::None),
            clock,
        }))
    }

    /// Changes of whether this process leads.
    pub(crate) fn subscribe(&self) -> watch::Receiver<bool> {
        self.0.leads.subscribe()
    }

    /// Returns once this process leads.
    pub(crate) async fn acquired(&self) {
        let mut leads = self.0.leads.subscribe();
        // The sender lives as long as this handle.
        let _ = leads.wait_for(|leads| *leads).await;
    }

    /// Returns the deadline of a write; `None` if this process must not write.
    pub(crate) fn write_deadline(&self) -> Option<Instant> {
        match *self.0.term.lock() {
            LeaderTerm::None => None,
            LeaderTerm::Until { deadline, wall } => {
                let valid = clock::now() < deadline && self.0.clock.timestamp() < wall;
                valid.then_some(deadline)
            }
        }
    }

    pub(super) fn extend(&self, deadline: Instant, wall: Timestamp) {
        *self.0.term.lock() = LeaderTerm::Until { deadline, wall };
        self.0
            .leads
            .send_if_modified(|leads| !std::mem::replace(leads, true));
    }

    pub(super) fn end(&self) {
        *self.0.term.lock() = LeaderTerm::None;
        self.0
            .leads
            .send_if_modified(|leads| std::mem::replace(leads, false));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    const EPOCH: Timestamp = Timestamp::UNIX_EPOCH;
    const TERM: Duration = Duration::from_secs(10);

    #[tokio::test(start_paused = true)]
    async fn a_term_ends_by_itself() {
        let leader = Leadership::standby(Clock::from_fn(|| EPOCH));
        assert_eq!(leader.write_deadline(), None, "a standby does not write");
        let end = clock::now() + TERM;
        leader.extend(end, EPOCH + TERM);
        assert_eq!(leader.write_deadline(), Some(end));
        tokio::time::advance(TERM).await;
        assert_eq!(leader.write_deadline(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_machine_that_was_suspended_writes_nothing_when_it_wakes() {
        let woken = EPOCH + Duration::from_mins(1);
        let leader = Leadership::standby(Clock::from_fn(move || woken));
        leader.extend(clock::now() + TERM, EPOCH + TERM);
        assert_eq!(leader.write_deadline(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_that_jumps_does_not_lengthen_a_term() {
        let wall = Arc::new(Mutex::new(EPOCH));
        let read = Arc::clone(&wall);
        let leader = Leadership::standby(Clock::from_fn(move || *read.lock()));
        leader.extend(clock::now() + TERM, EPOCH + TERM);
        let later = EPOCH + Duration::from_hours(3);
        *wall.lock() = later;
        assert_eq!(leader.write_deadline(), None, "hours forward end the term");
        leader.extend(clock::now() + TERM, later + TERM);
        assert!(
            leader.write_deadline().is_some(),
            "a renewal begins another"
        );
        *wall.lock() = EPOCH;
        assert!(leader.write_deadline().is_some());
        tokio::time::advance(TERM).await;
        assert_eq!(
            leader.write_deadline(),
            None,
            "hours back do not lengthen it"
        );
    }
}
