//! The ready keys of one kind, in three lanes.
//!
//! *Urgent* is first (deletions, requested runs), then *live* in the order of arrival, then *backlog*
//! (start-up, changed roles, resyncs) with the newest object first. A lane that was skipped [`MAX_SKIPS`]
//! times gets a turn, so that no lane starves. A key that moves to a better lane leaves a stale entry,
//! which its ticket identifies, and which is dropped at its turn.

use std::cmp::Ordering;
use std::collections::{BinaryHeap, VecDeque};

use super::key::Key;

/// The number of times that a lane yields to a better one. It gets at least a tenth of the work.
const MAX_SKIPS: u32 = 9;

/// The priority of a ready key. Ordered: the first is the best one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Lane {
    /// Precedes all others.
    Urgent,
    /// In the order of arrival.
    Live,
    /// After all others, highest rank first.
    Backlog {
        /// Higher for a newer object.
        rank: u64,
    },
}

/// An entry of a lane. Its ticket shows whether it is still valid.
pub(super) type Ticket = u64;

/// Ordered by rank, then by the age of the ticket. A later ticket is less.
#[derive(Debug)]
struct Ranked {
    rank: u64,
    ticket: Ticket,
    key: Key,
}

impl Ord for Ranked {
    fn cmp(&self, other: &Self) -> Ordering {
        (self.rank, other.ticket).cmp(&(other.rank, self.ticket))
    }
}

impl PartialOrd for Ranked {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Ranked {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other).is_eq()
    }
}

impl Eq for Ranked {}

/// The lanes of a kind.
#[derive(Debug, Default)]
pub(super) struct Lanes {
    urgent: VecDeque<(Ticket, Key)>,
    live: VecDeque<(Ticket, Key)>,
    backlog: BinaryHeap<Ranked>,
    /// The number of times that each of the lower lanes was skipped in a row.
    skipped: [u32; 2],
}

impl Lanes {
    pub(super) fn push(&mut self, lane: Lane, ticket: Ticket, key: Key) {
        match lane {
            Lane::Urgent => self.urgent.push_back((ticket, key)),
            Lane::Live => self.live.push_back((ticket, key)),
            Lane::Backlog { rank } => self.backlog.push(Ranked { rank, ticket, key }),
        }
    }

    /// Returns the next key with a valid ticket.
    pub(super) fn pop(&mut self, counts: impl Fn(&Key, Ticket) -> bool) -> Option<Key> {
        let order = match self.skipped {
            [live, _] if live >= MAX_SKIPS => [1, 0, 2],
            [_, backlog] if backlog >= MAX_SKIPS => [2, 0, 1],
            _ => [0, 1, 2],
        };
        let (lane, key) = order
            .into_iter()
            .find_map(|lane| Some((lane, self.pop_from(lane, &counts)?)))?;
        for (lower, passed) in [1, 2].into_iter().zip(&mut self.skipped) {
            *passed = match lower.cmp(&lane) {
                Ordering::Greater => *passed + 1,
                Ordering::Equal => 0,
                Ordering::Less => *passed,
            };
        }
        Some(key)
    }

    fn pop_from(&mut self, lane: usize, counts: impl Fn(&Key, Ticket) -> bool) -> Option<Key> {
        loop {
            let (ticket, key) = match lane {
                0 => self.urgent.pop_front()?,
                1 => self.live.pop_front()?,
                _ => self
                    .backlog
                    .pop()
                    .map(|ranked| (ranked.ticket, ranked.key))?,
            };
            if counts(&key, ticket) {
                return Some(key);
            }
        }
    }
}
