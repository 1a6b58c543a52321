//! Limits the runs of each custom resource per minute, with a token bucket per key.
//!
//! A full bucket contains the runs of one minute. A burst of triggers, such as children that become
//! ready, is therefore not delayed. An empty bucket refills at a constant rate, so that a custom resource
//! with endless triggers runs at that rate.
//!
//! A bucket is stored as the time at which it is full again (the generic cell rate algorithm). Full
//! buckets are not stored.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::time::Duration;

use super::key::Key;
use crate::clock::Instant;

/// The maximum rate of runs of one custom resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RunRate {
    /// The number of runs per minute.
    pub per_minute: NonZeroU32,
}

impl Default for RunRate {
    /// Returns 300 runs: five per second after a burst, so that a limited CR reacts to a change at most
    /// 0.2 s late.
    fn default() -> Self {
        Self {
            per_minute: const { NonZeroU32::new(300).expect("300 is not zero") },
        }
    }
}

const MINUTE: Duration = Duration::from_mins(1);

/// The number of buckets at which full ones are removed for the first time, and then at each doubling.
const PURGE_FROM: usize = 1024;

/// The buckets of all keys.
#[derive(Debug)]
pub(super) struct Buckets {
    rate: RunRate,
    by_key: HashMap<Key, Bucket>,
    purge_at: usize,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    full_at: Instant,
    /// The time of the last report of an empty bucket.
    reported: Option<Instant>,
}

impl Buckets {
    pub(super) fn new(rate: RunRate) -> Self {
        Self {
            rate,
            by_key: HashMap::new(),
            purge_at: PURGE_FROM,
        }
    }

    /// Returns the time in which a bucket gets one token.
    fn interval(&self) -> Duration {
        MINUTE / self.rate.per_minute.get()
    }

    /// Returns when a key's bucket has a token again; `None` if it has one.
    pub(super) fn next_token(&self, key: &Key, now: Instant) -> Option<Instant> {
        let full_at = self.by_key.get(key)?.full_at;
        // A bucket with one token is full when it got all others.
        let others = self.interval() * (self.rate.per_minute.get() - 1);
        let due = full_at.checked_sub(others)?;
        (due > now).then_some(due)
    }

    /// Takes a token for a run.
    pub(super) fn take(&mut self, key: &Key, now: Instant) {
        let interval = self.interval();
        if let Some(bucket) = self.by_key.get_mut(key) {
            bucket.full_at = bucket.full_at.max(now) + interval;
            return;
        }
        if self.by_key.len() >= self.purge_at {
            self.purge(now);
        }
        let bucket = Bucket {
            full_at: now + interval,
            reported: None,
        };
        self.by_key.insert(key.clone(), bucket);
    }

    /// Returns whether an empty bucket must be reported, which is once per minute.
    pub(super) fn report(&mut self, key: &Key, now: Instant) -> bool {
        let Some(bucket) = self.by_key.get_mut(key) else {
            return false;
        };
        if bucket.reported.is_some_and(|last| now < last + MINUTE) {
            return false;
        }
        bucket.reported = Some(now);
        true
    }

    /// Removes the full buckets.
    pub(super) fn purge(&mut self, now: Instant) {
        self.by_key.retain(|_, bucket| bucket.full_at > now);
        self.by_key.shrink_to(PURGE_FROM);
        self.purge_at = PURGE_FROM.max(self.by_key.len() * 2);
    }
}
