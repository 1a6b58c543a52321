//! Exponential backoff with jitter.

use std::time::Duration;

use rand::RngExt;

/// Doubling delays between two bounds, each spread by a share of itself.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Backoff {
    /// Delay after the first failure.
    pub initial: Duration,
    /// No delay is longer, jitter apart.
    pub max: Duration,
    /// Share by which a delay is spread to either side, 0.2 for ±20 %.
    pub jitter: f64,
}

impl Backoff {
    /// The backoff of reconciles: 1 s doubling to 5 min, ±20 %.
    pub(crate) const RECONCILE: Self = Self {
        initial: Duration::from_secs(1),
        max: Duration::from_mins(5),
        jitter: 0.2,
    };

    /// Delay after the given number of failures in a row, counted from 1.
    pub(crate) fn delay(&self, failures: u32) -> Duration {
        let spread = rand::rng().random_range(-self.jitter..=self.jitter);
        self.without_jitter(failures).mul_f64(1.0 + spread)
    }

    fn without_jitter(&self, failures: u32) -> Duration {
        let doublings = failures.saturating_sub(1).min(31);
        self.initial.saturating_mul(1 << doublings).min(self.max)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn delays_double_up_to_the_bound() {
        let seconds: Vec<_> = (1..=11)
            .map(|n| Backoff::RECONCILE.without_jitter(n).as_secs())
            .collect();
        assert_eq!(seconds, [1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300]);
    }

    proptest! {
        #[test]
        fn a_delay_stays_within_its_jitter(failures in 1u32..=u32::MAX) {
            let bare = Backoff::RECONCILE.without_jitter(failures).as_secs_f64();
            let delay = Backoff::RECONCILE.delay(failures).as_secs_f64();
            prop_assert!((bare * 0.799..=bare * 1.201).contains(&delay));
        }
    }
}
