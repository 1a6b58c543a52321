//! Retries of writes that are guarded by a resourceVersion and conflict with other writes.
//!
//! A conflict means that the cached version of the object is outdated. The caller therefore reads the
//! object from the server before each retry. Retries are delayed, so that another client can finish its
//! writes. After a few attempts the run fails with the conflict, and its longer backoff applies.

use std::time::Duration;

use crate::backoff::Backoff;
use crate::clock;

/// Attempts at one write.
const ATTEMPTS: u32 = 4;

/// The backoff between attempts: longer than a read and a write of another process take.
const BACKOFF: Backoff = Backoff {
    initial: Duration::from_millis(50),
    max: Duration::from_secs(1),
    jitter: 0.5,
};

/// Counts the attempts at one guarded write.
#[derive(Debug, Default)]
pub(crate) struct ConflictRetry {
    failures: u32,
}

impl ConflictRetry {
    /// Waits after an attempt that was overtaken. Returns whether there is another one, which needs a
    /// live read first.
    pub(crate) async fn wait_for_retry(&mut self) -> bool {
        self.failures += 1;
        if self.failures >= ATTEMPTS {
            return false;
        }
        clock::sleep(BACKOFF.delay(self.failures)).await;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn attempts_are_few_and_apart() {
        let (mut attempts, mut made) = (ConflictRetry::default(), 1);
        let mut before = clock::now();
        while attempts.wait_for_retry().await {
            assert!(before.elapsed() >= BACKOFF.initial / 2, "attempt {made}");
            before = clock::now();
            made += 1;
        }
        assert_eq!(made, ATTEMPTS);
    }
}
