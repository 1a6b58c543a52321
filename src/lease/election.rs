//! The algorithm of client-go's leader election, without IO.
//!
//! The algorithm never compares times in the lease with this machine's clock. A lease expires when it has not
//! changed for its duration, measured by the local monotonic clock since the last observed change.

use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{MicroTime, ObjectMeta};

use super::Config;
use crate::clock::Instant;

/// The state of the election as one replica knows it.
#[derive(Debug)]
pub(super) struct Election {
    config: Config,
    observed: Option<ObservedLease>,
}

#[derive(Debug)]
struct ObservedLease {
    spec: LeaseSpec,
    /// The time at which the spec was first observed.
    at: Instant,
}

/// The next write to the lease.
#[derive(Debug, PartialEq)]
pub(super) enum ElectionStep {
    /// The lease does not exist: create it.
    Create(Box<Lease>),
    /// This replica holds the lease, or it is free: update it, with the resourceVersion that was read.
    Replace(Box<Lease>),
    /// Another replica holds it.
    StandBy,
}

impl Election {
    pub(super) fn new(config: Config) -> Self {
        Self {
            config,
            observed: None,
        }
    }

    /// Records the observed lease.
    pub(super) fn observe(&mut self, lease: &Lease, now: Instant) {
        let spec = lease.spec.clone().unwrap_or_default();
        if self.observed.as_ref().is_none_or(|seen| seen.spec != spec) {
            self.observed = Some(ObservedLease { spec, at: now });
        }
    }

    /// Returns the next write to the lease that was last observed, or is absent.
    pub(super) fn step(&self, lease: Option<Lease>, now: Instant, wall: Timestamp) -> ElectionStep {
        let Some(mut lease) = lease else {
            return ElectionStep::Create(Box::new(self.fresh(wall)));
        };
        if self.held_until().is_some_and(|end| now < end) {
            return ElectionStep::StandBy;
        }
        let old = lease.spec.take().unwrap_or_default();
        lease.spec = Some(self.renewed(old, wall));
        ElectionStep::Replace(Box::new(lease))
    }

    /// Returns the released lease, which any candidate can acquire.
    pub(super) fn released(&self, mut lease: Lease, wall: Timestamp) -> Option<Lease> {
        let spec = lease.spec.as_mut()?;
        if spec.holder_identity.as_deref() != Some(&self.config.identity) {
            return None;
        }
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.renew_time = Some(MicroTime(wall));
        spec.acquire_time = Some(MicroTime(wall));
        Some(lease)
    }

    /// Returns the holder of the lease that was last observed.
    pub(super) fn holder(&self) -> Option<&str> {
        let holder = self.observed.as_ref()?.spec.holder_identity.as_deref()?;
        Some(holder).filter(|holder| !holder.is_empty())
    }

    /// Returns the time until which another replica holds the lease unless it renews it; `None` if
    /// this replica holds it or it is free.
    pub(super) fn held_until(&self) -> Option<Instant> {
        self.holder()
            .filter(|holder| *holder != self.config.identity)?;
        let observed = self.observed.as_ref()?;
        let seconds = observed
            .spec
            .lease_duration_seconds
            .and_then(|s| u64::try_from(s).ok());
        let duration = seconds.map_or(self.config.lease_duration, Duration::from_secs);
        Some(observed.at + duration)
    }

    fn fresh(&self, wall: Timestamp) -> Lease {
        Lease {
            metadata: ObjectMeta {
                namespace: Some(self.config.namespace.clone()),
                name: Some(self.config.name.clone()),
                ..ObjectMeta::default()
            },
            spec: Some(LeaseSpec {
                lease_transitions: Some(0),
                ..self.renewed(LeaseSpec::default(), wall)
            }),
        }
    }

    fn renewed(&self, old: LeaseSpec, wall: Timestamp) -> LeaseSpec {
        let ours = old.holder_identity.as_deref() == Some(&self.config.identity);
        let transitions = old.lease_transitions.unwrap_or_default();
        let acquired = old.acquire_time.clone().filter(|_| ours);
        LeaseSpec {
            holder_identity: Some(self.config.identity.clone()),
            lease_duration_seconds: i32::try_from(self.config.lease_duration.as_secs()).ok(),
            acquire_time: acquired.or(Some(MicroTime(wall))),
            renew_time: Some(MicroTime(wall)),
            lease_transitions: Some(if ours {
                transitions
            } else {
                transitions.saturating_add(1)
            }),
            ..old
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock;

    fn mk_election(identity: &str) -> Election {
        Election::new(Config::new("ns", "lease", identity))
    }

    fn wall(seconds: i64) -> Timestamp {
        Timestamp::from_second(1_800_000_000 + seconds).unwrap()
    }

    fn mk_lease(step: ElectionStep) -> Lease {
        match step {
            ElectionStep::Create(lease) | ElectionStep::Replace(lease) => *lease,
            ElectionStep::StandBy => panic!("stands by"),
        }
    }

    fn spec(lease: &Lease) -> &LeaseSpec {
        lease.spec.as_ref().unwrap()
    }

    #[tokio::test(start_paused = true)]
    async fn an_absent_lease_is_made() {
        let lease = mk_lease(mk_election("a").step(None, clock::now(), wall(0)));
        assert_eq!(spec(&lease).holder_identity.as_deref(), Some("a"));
        assert_eq!(spec(&lease).lease_duration_seconds, Some(15));
        assert_eq!(spec(&lease).lease_transitions, Some(0));
        assert_eq!(spec(&lease).acquire_time, Some(MicroTime(wall(0))));
    }

    #[tokio::test(start_paused = true)]
    async fn a_lease_of_another_is_respected_until_it_has_not_changed_for_its_duration() {
        let held = mk_lease(mk_election("a").step(None, clock::now(), wall(0)));
        let mut b = mk_election("b");
        b.observe(&held, clock::now());
        assert_eq!(
            b.step(Some(held.clone()), clock::now(), wall(0)),
            ElectionStep::StandBy
        );
        assert_eq!(b.holder(), Some("a"));
        tokio::time::advance(Duration::from_secs(14)).await;
        b.observe(&held, clock::now());
        assert_eq!(
            b.step(Some(held.clone()), clock::now(), wall(0)),
            ElectionStep::StandBy
        );
        tokio::time::advance(Duration::from_secs(1)).await;
        b.observe(&held, clock::now());
        let taken = mk_lease(b.step(Some(held), clock::now(), wall(15)));
        assert_eq!(spec(&taken).holder_identity.as_deref(), Some("b"));
        assert_eq!(spec(&taken).lease_transitions, Some(1));
        assert_eq!(spec(&taken).acquire_time, Some(MicroTime(wall(15))));
    }

    #[tokio::test(start_paused = true)]
    async fn an_observed_renewal_restarts_the_wait() {
        let a = mk_election("a");
        let held = mk_lease(a.step(None, clock::now(), wall(0)));
        let mut b = mk_election("b");
        b.observe(&held, clock::now());
        tokio::time::advance(Duration::from_secs(14)).await;
        let renewed = mk_lease(a.step(Some(held), clock::now(), wall(14)));
        b.observe(&renewed, clock::now());
        tokio::time::advance(Duration::from_secs(14)).await;
        assert_eq!(
            b.step(Some(renewed), clock::now(), wall(28)),
            ElectionStep::StandBy
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_clock_that_is_wrong_by_hours_takes_nothing() {
        let held = mk_lease(mk_election("a").step(None, clock::now(), wall(-36_000)));
        let mut b = mk_election("b");
        b.observe(&held, clock::now());
        assert_eq!(
            b.step(Some(held), clock::now(), wall(0)),
            ElectionStep::StandBy
        );
    }

    #[tokio::test(start_paused = true)]
    async fn renewing_keeps_the_term_and_what_others_wrote() {
        let mut a = mk_election("a");
        let mut held = mk_lease(a.step(None, clock::now(), wall(0)));
        held.metadata.resource_version = Some("7".to_owned());
        held.spec.as_mut().unwrap().strategy = Some("OldestEmulationVersion".to_owned());
        a.observe(&held, clock::now());
        let renewed = mk_lease(a.step(Some(held.clone()), clock::now(), wall(2)));
        assert_eq!(spec(&renewed).acquire_time, Some(MicroTime(wall(0))));
        assert_eq!(spec(&renewed).renew_time, Some(MicroTime(wall(2))));
        assert_eq!(spec(&renewed).lease_transitions, Some(0));
        assert_eq!(spec(&renewed).strategy, spec(&held).strategy);
        assert_eq!(renewed.metadata.resource_version.as_deref(), Some("7"));
    }

    #[tokio::test(start_paused = true)]
    async fn a_released_lease_is_free_at_once() {
        let a = mk_election("a");
        let held = mk_lease(a.step(None, clock::now(), wall(0)));
        let free = a.released(held.clone(), wall(1)).unwrap();
        let mut b = mk_election("b");
        b.observe(&free, clock::now());
        let taken = mk_lease(b.step(Some(free), clock::now(), wall(1)));
        assert_eq!(spec(&taken).holder_identity.as_deref(), Some("b"));
        assert_eq!(b.released(held, wall(1)), None, "not b's to give back");
    }

    #[test]
    fn times_have_exactly_six_digits_of_a_second() {
        let text = serde_json::to_string(&MicroTime(wall(0))).unwrap();
        assert_eq!(text, r#""2027-01-15T08:00:00.000000Z""#);
    }
}
