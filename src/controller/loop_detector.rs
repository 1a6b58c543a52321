//! Detects write conflicts with another controller: too many writes to one child within some time,
//! without a change of the custom resource or of the objects that its runs read.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use crate::clock::Instant;
use crate::model::ObjectRef;

/// The bounds beyond which writes are a conflict.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits {
    /// The maximum number of writes to one child within `window`.
    pub writes: usize,
    /// The time for which a write counts.
    pub window: Duration,
    /// The pause of the custom resource after a conflict.
    pub pause: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            writes: 10,
            window: Duration::from_mins(1),
            pause: Duration::from_mins(5),
        }
    }
}

/// The recent writes of one custom resource.
#[derive(Debug, Default)]
pub(super) struct Detector {
    /// A digest of the generation and of the objects that the run read. A change of it explains writes.
    cause: u64,
    writes: HashMap<ObjectRef, VecDeque<Instant>>,
}

impl Detector {
    /// Counts a run's writes. Returns a child that was written too often. A new `cause` resets the counts.
    pub(super) fn record(
        &mut self,
        writes: &[ObjectRef],
        cause: u64,
        limits: Limits,
        now: Instant,
    ) -> Option<ObjectRef> {
        if self.cause != cause {
            self.writes.clear();
            self.cause = cause;
        }
        for child in writes {
            self.writes.entry(child.clone()).or_default().push_back(now);
        }
        self.writes.retain(|_, times| {
            while times
                .front()
                .is_some_and(|time| *time + limits.window <= now)
            {
                times.pop_front();
            }
            !times.is_empty()
        });
        let fought = self
            .writes
            .iter()
            .find(|(_, times)| times.len() > limits.writes);
        let child = fought.map(|(child, _)| child.clone())?;
        self.writes.clear();
        Some(child)
    }

    /// Returns the number of recent writes to a child.
    pub(super) fn count(&self, child: &ObjectRef) -> usize {
        self.writes.get(child).map_or(0, VecDeque::len)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.writes.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;
    use crate::model::Gvk;

    fn mk_child(name: &str) -> ObjectRef {
        ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), Some("ns"), name)
    }

    async fn fights(every: Duration, cause: impl Fn(usize) -> u64, children: usize) -> bool {
        let mut detector = Detector::default();
        for run in 0..30 {
            let child = mk_child(&(run % children).to_string());
            let now = clock::now();
            if detector
                .record(&[child], cause(run), Limits::default(), now)
                .is_some()
            {
                return true;
            }
            tokio::time::advance(every).await;
        }
        false
    }

    #[tokio::test(start_paused = true)]
    async fn many_writes_to_one_child_are_a_fight() {
        assert!(fights(Duration::from_secs(1), |_| 0, 1).await);
    }

    #[tokio::test(start_paused = true)]
    async fn slow_writes_are_none() {
        assert!(!fights(Duration::from_secs(6), |_| 0, 1).await);
    }

    #[tokio::test(start_paused = true)]
    async fn writes_that_follow_changes_are_none() {
        assert!(!fights(Duration::from_millis(1), |run| run as u64 / 8, 1).await);
    }

    #[tokio::test(start_paused = true)]
    async fn writes_to_many_children_are_none() {
        assert!(!fights(Duration::from_millis(1), |_| 0, 3).await);
    }

    #[tokio::test(start_paused = true)]
    async fn counting_restarts_after_a_verdict() {
        let mut detector = Detector::default();
        let writes = vec![mk_child("a"); 11];
        let now = clock::now();
        assert_eq!(
            detector.record(&writes, 0, Limits::default(), now),
            Some(mk_child("a"))
        );
        assert!(detector.is_empty());
    }
}
