//! Decides which Events are sent, counted or dropped. Pure functions.
//!
//! As in client-go, an Event that repeats within a window is a series, and one object may send 25
//! Events at once and one every five minutes after that.

use std::collections::HashMap;
use std::time::Duration;

use jiff::Timestamp;

use super::event::Event;
use crate::clock::Instant;

/// An Event that repeats within this time belongs to a series. It is longer than the longest backoff.
const WINDOW: Duration = Duration::from_mins(10);
/// Minimum time between two updates of a series, so that a frequent one costs little.
const COUNT_EVERY: Duration = Duration::from_secs(10);
/// Number of Events that one object may send at once.
const BURST: u32 = 25;
/// Time until an object may send one more Event.
const REFILL: Duration = Duration::from_mins(5);
/// Maximum number of series and objects remembered. Those without Events for the longest time are
/// removed first.
const CAPACITY: usize = 4096;

/// The Events that were sent, and the remaining rate of each object.
#[derive(Debug, Default)]
pub(super) struct Aggregator {
    entries: HashMap<Event, Entry>,
    budgets: HashMap<Box<str>, Budget>,
}

#[derive(Debug)]
struct Entry {
    name: String,
    count: u32,
    sent_count: u32,
    sent_at: Instant,
    last: Instant,
    last_stamp: Timestamp,
}

#[derive(Debug)]
struct Budget {
    left: u32,
    since: Instant,
}

/// A decision about an Event.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Decision {
    /// Send it under this name.
    Send(String),
    /// Count it as part of a series.
    Count,
    /// Drop it, because its object exceeds the rate limit.
    Drop,
}

/// The count of a series to send.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Series {
    /// The namespace of the Event.
    pub(super) namespace: String,
    /// The name of the Event.
    pub(super) name: String,
    /// The number of occurrences.
    pub(super) count: u32,
    /// The time of the last occurrence.
    pub(super) last: Timestamp,
}

impl Aggregator {
    /// Adds an Event that occurs now.
    pub(super) fn add(&mut self, event: &Event, now: Instant, stamp: Timestamp) -> Decision {
        self.forget_old(now);
        let known = self.entries.get_mut(event);
        if let Some(entry) = known.filter(|entry| now - entry.last < WINDOW) {
            entry.count += 1;
            entry.last = now;
            entry.last_stamp = stamp;
            return Decision::Count;
        }
        let budget = self.budgets.entry(event.uid.clone());
        if !budget
            .or_insert(Budget {
                left: BURST,
                since: now,
            })
            .take(now)
        {
            return Decision::Drop;
        }
        let name = name(&event.regarding.name, stamp);
        let entry = Entry {
            name: name.clone(),
            count: 1,
            sent_count: 1,
            sent_at: now,
            last: now,
            last_stamp: stamp,
        };
        self.entries.insert(event.clone(), entry);
        Decision::Send(name)
    }

    /// Removes an Event that could not be sent, so that its next occurrence is sent.
    pub(super) fn forget(&mut self, event: &Event) {
        self.entries.remove(event);
    }

    /// Returns the time at which the next count is due.
    pub(super) fn due(&self) -> Option<Instant> {
        let due = |entry: &Entry| {
            entry
                .has_unsent_count()
                .then(|| entry.sent_at + COUNT_EVERY)
        };
        self.entries.values().filter_map(due).min()
    }

    /// Returns the counts that are due, or all unsent ones.
    pub(super) fn take_due(&mut self, now: Instant, all: bool) -> Vec<Series> {
        let news = self.entries.iter_mut().filter(|(_, entry)| {
            entry.has_unsent_count() && (all || entry.sent_at + COUNT_EVERY <= now)
        });
        news.map(|(event, entry)| {
            entry.sent_count = entry.count;
            entry.sent_at = now;
            Series {
                namespace: event.namespace().to_owned(),
                name: entry.name.clone(),
                count: entry.count,
                last: entry.last_stamp,
            }
        })
        .collect()
    }

    fn forget_old(&mut self, now: Instant) {
        if self.entries.len() >= CAPACITY {
            self.entries.retain(|_, entry| now - entry.last < WINDOW);
        }
        if self.entries.len() >= CAPACITY {
            let oldest = self.entries.iter().min_by_key(|(_, entry)| entry.last);
            if let Some(oldest) = oldest.map(|(event, _)| event.clone()) {
                self.entries.remove(&oldest);
            }
        }
        if self.budgets.len() >= CAPACITY {
            self.budgets.retain(|_, budget| !budget.is_full(now));
        }
    }
}

impl Entry {
    fn has_unsent_count(&self) -> bool {
        self.count > self.sent_count
    }
}

impl Budget {
    fn take(&mut self, now: Instant) -> bool {
        let gained = self.gained(now);
        if gained > 0 {
            self.left = (self.left + gained).min(BURST);
            self.since = now;
        }
        let granted = self.left > 0;
        self.left = self.left.saturating_sub(1);
        granted
    }

    fn gained(&self, now: Instant) -> u32 {
        u32::try_from((now - self.since).as_secs() / REFILL.as_secs())
            .unwrap_or(BURST)
            .min(BURST)
    }

    fn is_full(&self, now: Instant) -> bool {
        self.left + self.gained(now) >= BURST
    }
}

/// Returns a name in the form of client-go: the name of the object and the time in hexadecimal
/// nanoseconds.
fn name(object: &str, stamp: Timestamp) -> String {
    // A name has at most 253 characters, of which the time takes 16. The cut must not leave a final dot.
    let object = object.get(..object.len().min(235)).unwrap_or(object);
    format!(
        "{}.{:x}",
        object.trim_end_matches(['.', '-']),
        stamp.as_nanosecond()
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::model::gvk::Gvk;
    use crate::model::{ObjectRef, Redactor};

    fn event(uid: &str, note: &str) -> Event {
        Event {
            regarding: ObjectRef::new(Gvk::new("g", "v1", "K"), Some("n"), "x"),
            uid: uid.into(),
            warning: true,
            reason: "Failed".into(),
            note: Redactor::default().public(note),
        }
    }

    fn stamp(second: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + second).unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn a_repeated_event_is_counted_and_its_count_sent_later() {
        let mut aggregator = Aggregator::default();
        let start = clock::now();
        let Decision::Send(name) = aggregator.add(&event("u", "a"), start, stamp(0)) else {
            panic!("the first one is sent");
        };
        assert_eq!(aggregator.due(), None);
        for second in 1..=3 {
            let now = start + Duration::from_secs(second);
            let stamp = stamp(i64::try_from(second).unwrap());
            assert_eq!(
                aggregator.add(&event("u", "a"), now, stamp),
                Decision::Count
            );
        }
        assert_eq!(aggregator.due(), Some(start + COUNT_EVERY));
        assert!(
            aggregator
                .take_due(start + Duration::from_secs(4), false)
                .is_empty()
        );
        let series = Series {
            namespace: "n".into(),
            name,
            count: 4,
            last: stamp(3),
        };
        assert_eq!(aggregator.take_due(start + COUNT_EVERY, false), [series]);
        assert_eq!(aggregator.due(), None);
    }

    /// Only the name and the time of an Event are those of the wall clock.
    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_that_jumps_neither_splits_nor_holds_back_a_series() {
        let start = clock::now();
        let later = |seconds| start + Duration::from_secs(seconds);
        for jump in [-36_000, 36_000] {
            let mut aggregator = Aggregator::default();
            aggregator.add(&event("u", "a"), start, stamp(0));
            let decision = aggregator.add(&event("u", "a"), later(1), stamp(jump));
            assert_eq!(decision, Decision::Count);
            let [series] = &aggregator.take_due(start + COUNT_EVERY, false)[..] else {
                panic!("the count is due");
            };
            assert_eq!((series.count, series.last), (2, stamp(jump)));
            // The rate of an object.
            let mut send = |number: u64, at| {
                let event = event("u", &number.to_string());
                matches!(aggregator.add(&event, at, stamp(jump)), Decision::Send(_))
            };
            assert_eq!(
                (0..100).filter(|number| send(*number, later(20))).count(),
                24
            );
            assert!(send(100, start + REFILL));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn another_text_is_another_event() {
        let mut aggregator = Aggregator::default();
        let now = clock::now();
        assert!(matches!(
            aggregator.add(&event("u", "a"), now, stamp(0)),
            Decision::Send(_)
        ));
        assert!(matches!(
            aggregator.add(&event("u", "b"), now, stamp(0)),
            Decision::Send(_)
        ));
        aggregator.forget(&event("u", "a"));
        assert!(matches!(
            aggregator.add(&event("u", "a"), now, stamp(0)),
            Decision::Send(_)
        ));
    }

    #[tokio::test(start_paused = true)]
    async fn one_object_cannot_flood_the_server_and_does_not_stop_others() {
        let mut aggregator = Aggregator::default();
        let start = clock::now();
        let mut sent = |uid: &str, now| {
            let verdicts = (0..100)
                .map(|n| aggregator.add(&event(uid, &format!("{n} {now:?}")), now, stamp(0)));
            verdicts
                .filter(|verdict| matches!(verdict, Decision::Send(_)))
                .count()
        };
        assert_eq!(sent("noisy", start), 25);
        assert_eq!(sent("other", start), 25);
        assert_eq!(sent("noisy", start + REFILL), 1);
        assert_eq!(sent("noisy", start + REFILL * 100), 25);
    }

    #[tokio::test(start_paused = true)]
    async fn the_memory_of_events_is_limited() {
        let mut aggregator = Aggregator::default();
        let now = clock::now();
        for n in 0..CAPACITY + 10 {
            aggregator.add(&event(&n.to_string(), "a"), now, stamp(0));
        }
        assert_eq!(aggregator.entries.len(), CAPACITY);
    }

    #[test]
    fn names_stay_valid() {
        let long = format!("{}.{}", "a".repeat(234), "b".repeat(15));
        let name = name(&long, stamp(0));
        assert!(name.len() <= 253, "{}", name.len());
        assert!(!name.contains(".."), "{name}");
    }
}
