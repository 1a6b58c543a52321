//! The period of runs that no change triggers.

use std::time::Duration;

use rand::RngExt;

use super::change_predicate::period_keys;
use crate::model::{Object, duration};
use crate::watches::Watch;

/// An annotation whose value is not a duration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct InvalidAnnotation {
    pub(super) key: &'static str,
    pub(super) value: String,
}

/// Returns the period of a custom resource, from its annotation, its watch or the operator, in this order;
/// `None` for zero.
pub(super) fn effective_period(
    cr: &Object,
    watch: &Watch,
    default: Duration,
) -> (Option<Duration>, Option<InvalidAnnotation>) {
    let annotations = cr.details().annotations;
    let annotation = period_keys().find_map(|key| Some((key, annotations.get(key)?)));
    let (annotated, bad) = match annotation {
        None => (None, None),
        Some((key, value)) => match duration::parse(value) {
            Ok(period) => (Some(period), None),
            Err(_) => (
                None,
                Some(InvalidAnnotation {
                    key,
                    value: value.clone(),
                }),
            ),
        },
    };
    let period = annotated.or(watch.reconcile_period).unwrap_or(default);
    ((!period.is_zero()).then_some(period), bad)
}

/// The minimum period whose runs are spread, so that CRs that started together do not always run together.
const SPREAD_FROM: Duration = Duration::from_mins(5);

/// Shortens a long period by up to a tenth.
pub(super) fn shorten_randomly(period: Duration) -> Duration {
    if period < SPREAD_FROM {
        return period;
    }
    period.mul_f64(rand::rng().random_range(0.9..=1.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use std::path::Path;
    use std::sync::Arc;

    use serde_json::json;

    use crate::model::annotations::{ANSIBLE_RECONCILE_PERIODS, RECONCILE_PERIOD};
    use crate::watches::{self, Environment};

    const DEFAULT: Duration = Duration::from_hours(10);

    fn mk_watch(more: &str) -> Arc<Watch> {
        let text = format!("- group: g\n  version: v1\n  kind: K\n  role: r\n{more}");
        let environment = Environment::default();
        let watches = watches::parse(Path::new("watches.yaml"), &text, &environment);
        Arc::clone(&watches.entries[0])
    }

    fn seconds(annotations: &serde_json::Value, watch: &str) -> Option<u64> {
        let cr = json!({"metadata": {"name": "a", "annotations": annotations}});
        let cr = testing::custom_resource(&cr);
        effective_period(&cr, &mk_watch(watch), DEFAULT)
            .0
            .map(|period| period.as_secs())
    }

    #[test]
    fn the_annotation_wins_over_the_watch_and_that_over_the_flag() {
        let none = json!({});
        assert_eq!(seconds(&none, ""), Some(36_000));
        assert_eq!(seconds(&none, "  reconcilePeriod: 1m\n"), Some(60));
        for key in [RECONCILE_PERIOD]
            .into_iter()
            .chain(ANSIBLE_RECONCILE_PERIODS)
        {
            assert_eq!(
                seconds(&json!({key: "5s"}), "  reconcilePeriod: 1m\n"),
                Some(5)
            );
        }
    }

    #[test]
    fn zero_is_never() {
        assert_eq!(seconds(&json!({}), "  reconcilePeriod: 0s\n"), None);
        assert_eq!(
            seconds(&json!({RECONCILE_PERIOD: "0s"}), "  reconcilePeriod: 1m\n"),
            None
        );
    }

    #[test]
    fn an_invalid_annotation_is_reported_and_ignored() {
        let cr = json!({"metadata": {"name": "a", "annotations": {RECONCILE_PERIOD: "soon"}}});
        let cr = testing::custom_resource(&cr);
        let (period, bad) = effective_period(&cr, &mk_watch("  reconcilePeriod: 1m\n"), DEFAULT);
        assert_eq!(period, Some(Duration::from_mins(1)));
        let expected = InvalidAnnotation {
            key: RECONCILE_PERIOD,
            value: "soon".to_owned(),
        };
        assert_eq!(bad, Some(expected));
    }

    #[test]
    fn short_periods_are_kept_to_the_letter() {
        assert_eq!(
            shorten_randomly(Duration::from_secs(10)),
            Duration::from_secs(10)
        );
        let spread = shorten_randomly(DEFAULT);
        assert!(spread <= DEFAULT && spread >= DEFAULT.mul_f64(0.89));
    }
}
