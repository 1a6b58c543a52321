//! The only source of the current time and of waiting, so that tests can pause and advance the time.
//!
//! Monotonic time is that of tokio, which `tokio::time::pause` stops. The feature `paused-time` adds
//! [`advance`]. Wall-clock time is that of the system; code that needs another one takes a [`Clock`].

#![expect(
    clippy::disallowed_methods,
    reason = "this is the one place that reads the time"
)]

use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
pub use tokio::time::Instant;

/// Monotonic now; stands still while tokio's time is paused.
pub fn now() -> Instant {
    Instant::now()
}

/// Waits.
pub async fn sleep(duration: Duration) {
    tokio::time::sleep(duration).await;
}

/// Waits until a point in time.
pub async fn sleep_until(deadline: Instant) {
    tokio::time::sleep_until(deadline).await;
}

/// Advances the paused time of a runtime.
#[cfg(feature = "paused-time")]
pub async fn advance(duration: Duration) {
    tokio::time::advance(duration).await;
}

/// Real time since its start, which stays real where tokio's time is paused.
#[derive(Clone, Copy, Debug)]
pub struct Stopwatch(std::time::Instant);

impl Stopwatch {
    /// Begins now.
    pub fn start() -> Self {
        Self(std::time::Instant::now())
    }

    /// Time since the start.
    pub fn elapsed(&self) -> Duration {
        self.0.elapsed()
    }
}

/// A wall clock: the system's, or one that a test sets.
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> Timestamp + Send + Sync>);

impl Clock {
    /// The system's clock.
    pub fn system() -> Self {
        Self(Arc::new(Timestamp::now))
    }

    /// A clock that a test drives.
    pub fn from_fn(read: impl Fn() -> Timestamp + Send + Sync + 'static) -> Self {
        Self(Arc::new(read))
    }

    /// Returns this clock for timeouts. From now on it advances at most as fast as monotonic time, so a wall
    /// clock that is set forward does not end them.
    #[must_use]
    pub fn for_timeouts(&self) -> Self {
        let wall = self.clone();
        let (start, base) = (now(), wall.timestamp());
        Self::from_fn(move || {
            let steady = base.saturating_add(start.elapsed());
            let wall = wall.timestamp();
            steady.map_or(wall, |steady| steady.min(wall))
        })
    }

    /// Wall-clock now.
    pub fn timestamp(&self) -> Timestamp {
        (self.0)()
    }

    /// Wall-clock now as `metav1.Time` writes it: whole seconds, UTC, RFC 3339.
    pub fn rfc3339(&self) -> String {
        self.timestamp().strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
    }
}

impl Default for Clock {
    fn default() -> Self {
        Self::system()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Clock")
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicI64, Ordering};

    use jiff::SignedDuration;

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn a_clock_for_timeouts_advances_at_most_as_fast_as_monotonic_time() {
        let hours = Arc::new(AtomicI64::new(0));
        let (start, set) = (now(), Arc::clone(&hours));
        let wall = Clock::from_fn(move || {
            let jump = SignedDuration::from_hours(set.load(Ordering::SeqCst));
            Timestamp::UNIX_EPOCH + start.elapsed() + jump
        });
        let clock = wall.for_timeouts();
        let at = |hours: i64| Timestamp::UNIX_EPOCH + SignedDuration::from_hours(hours);
        assert_eq!(clock.timestamp(), at(0));
        hours.store(5, Ordering::SeqCst);
        assert_eq!(clock.timestamp(), at(0));
        tokio::time::advance(Duration::from_hours(1)).await;
        assert_eq!(clock.timestamp(), at(1));
        hours.store(-5, Ordering::SeqCst);
        assert_eq!(clock.timestamp(), at(-4));
        hours.store(0, Ordering::SeqCst);
        assert_eq!(clock.timestamp(), at(1));
    }
}
