//! Whether this process leads, and until when it may write.

use std::sync::Arc;

use jiff::Timestamp;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::clock::{self, Clock, Instant};

/// What the elector tells the rest of the process. Clones share it.
#[derive(Clone, Debug)]
pub struct Leadership(Arc<Inner>);

#[derive(Debug)]
struct Inner {
    leads: watch::Sender<bool>,
    term: Mutex<Term>,
    clock: Clock,
}

/// Until when to write.
#[derive(Clone, Copy, Debug)]
enum Term {
    /// There is no election.
    Unbounded,
    /// Another replica leads, or none.
    None,
    /// Until both: the monotonic clock stands still while a virtual machine is suspended, the wall clock
    /// does not.
    Until { deadline: Instant, wall: Timestamp },
}

impl Leadership {
    /// Without election: always leader.
    pub fn sole() -> Self {
        Self::new(true, Term::Unbounded, Clock::system())
    }

    pub(super) fn standby(clock: Clock) -> Self {
        Self::new(false, Term::None, clock)
    }

    fn new(leads: bool, term: Term, clock: Clock) -> Self {
        Self(Arc::new(Inner {
            leads: watch::Sender::new(leads),
            term: Mutex::new(term),
            clock,
        }))
    }

    /// Changes of whether this process leads.
    pub fn subscribe(&self) -> watch::Receiver<bool> {
        self.0.leads.subscribe()
    }

    /// Returns once this process leads.
    pub async fn acquired(&self) {
        self.turned(true).await;
    }

    /// Returns once this process leads no longer.
    pub async fn lost(&self) {
        self.turned(false).await;
    }

    /// Until when a write may be awaited: `None` when none may be sent.
    pub fn write_deadline(&self) -> Option<Deadline> {
        match *self.0.term.lock() {
            Term::Unbounded => Some(Deadline::Never),
            Term::None => None,
            Term::Until { deadline, wall } => {
                let valid = clock::now() < deadline && self.0.clock.timestamp() < wall;
                valid.then_some(Deadline::At(deadline))
            }
        }
    }

    pub(super) fn extend(&self, deadline: Instant, wall: Timestamp) {
        *self.0.term.lock() = Term::Until { deadline, wall };
        self.0
            .leads
            .send_if_modified(|leads| !std::mem::replace(leads, true));
    }

    pub(super) fn end(&self) {
        *self.0.term.lock() = Term::None;
        self.0
            .leads
            .send_if_modified(|leads| std::mem::replace(leads, false));
    }

    async fn turned(&self, value: bool) {
        let mut leads = self.0.leads.subscribe();
        // The sender lives as long as `self`.
        let _ = leads.wait_for(|leads| *leads == value).await;
    }
}

/// Until when a write may be awaited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Deadline {
    /// No bound by leadership.
    Never,
    /// This long.
    At(Instant),
}
