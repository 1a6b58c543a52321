//! Detects loops and workers that are stuck: each announces the time of its next heartbeat.
//!
//! A [`Heartbeat`] that is armed is overdue if nothing arms it again before its bound ends. Then `/healthz`
//! fails, and the kubelet restarts the process. Code that waits for the API server or for a queue disarms its
//! heartbeat, or arms it by a timer. So an API server that does not answer causes no restart.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;

use crate::clock::{self, Instant};

/// Not armed.
const DISARMED: u64 = u64::MAX;

/// The beats of a process. Clones share them.
#[derive(Clone)]
pub struct Watchdog(Arc<Inner>);

struct Inner {
    start: Instant,
    next: AtomicU64,
    beats: Mutex<HashMap<u64, Entry>>,
    probes: Mutex<Vec<Probe>>,
}

/// A function that returns the names of stuck parts.
type Probe = Box<dyn Fn() -> Vec<Arc<str>> + Send + Sync>;

impl fmt::Debug for Watchdog {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Watchdog")
    }
}

#[derive(Debug)]
struct Entry {
    name: Arc<str>,
    /// Milliseconds after `start` by which the beat is due.
    due: Arc<AtomicU64>,
}

/// The beat of one loop or worker; dropping it takes it out.
#[derive(Debug)]
pub struct Heartbeat {
    id: u64,
    due: Arc<AtomicU64>,
    watchdog: Watchdog,
}

impl Default for Watchdog {
    fn default() -> Self {
        Self(Arc::new(Inner {
            start: clock::now(),
            next: AtomicU64::new(0),
            beats: Mutex::default(),
            probes: Mutex::default(),
        }))
    }
}

impl Watchdog {
    /// Adds a loop or worker, disarmed.
    pub fn heartbeat(&self, name: &str) -> Heartbeat {
        let id = self.0.next.fetch_add(1, Ordering::Relaxed);
        let due = Arc::new(AtomicU64::new(DISARMED));
        let entry = Entry {
            name: name.into(),
            due: Arc::clone(&due),
        };
        self.0.beats.lock().insert(id, entry);
        Heartbeat {
            id,
            due,
            watchdog: self.clone(),
        }
    }

    /// Adds a source of names of stuck parts, which each check calls.
    pub fn probe(&self, probe: impl Fn() -> Vec<Arc<str>> + Send + Sync + 'static) {
        self.0.probes.lock().push(Box::new(probe));
    }

    /// Returns the names of the loops and workers that are overdue.
    pub fn overdue(&self) -> Vec<Arc<str>> {
        let now = self.millis(clock::now());
        let mut overdue: Vec<Arc<str>> = self
            .0
            .beats
            .lock()
            .values()
            .filter(|entry| entry.due.load(Ordering::Relaxed) < now)
            .map(|entry| Arc::clone(&entry.name))
            .collect();
        for probe in &*self.0.probes.lock() {
            overdue.extend(probe());
        }
        overdue
    }

    fn millis(&self, at: Instant) -> u64 {
        let elapsed = at.saturating_duration_since(self.0.start).as_millis();
        u64::try_from(elapsed).unwrap_or(DISARMED - 1)
    }
}

impl Heartbeat {
    /// Promises to arm again, disarm or end within `bound`.
    pub fn arm(&self, bound: Duration) {
        let due = self.watchdog.millis(clock::now() + bound);
        self.due.store(due, Ordering::Relaxed);
    }

    /// Promises nothing: idle.
    pub fn disarm(&self) {
        self.due.store(DISARMED, Ordering::Relaxed);
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.watchdog.0.beats.lock().remove(&self.id);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_late_heartbeat_is_overdue_until_the_next_beat() {
        let watchdog = Watchdog::default();
        let beat = watchdog.heartbeat("worker");
        beat.arm(Duration::from_secs(10));
        tokio::time::advance(Duration::from_secs(9)).await;
        assert!(watchdog.overdue().is_empty());
        tokio::time::advance(Duration::from_secs(2)).await;
        assert_eq!(watchdog.overdue(), ["worker".into()]);
        beat.arm(Duration::from_secs(10));
        assert!(watchdog.overdue().is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn an_idle_or_ended_beat_is_never_overdue() {
        let watchdog = Watchdog::default();
        let idle = watchdog.heartbeat("idle");
        idle.arm(Duration::from_secs(1));
        idle.disarm();
        let ended = watchdog.heartbeat("ended");
        ended.arm(Duration::from_secs(1));
        drop(ended);
        tokio::time::advance(Duration::from_hours(24)).await;
        assert!(watchdog.overdue().is_empty());
    }
}
