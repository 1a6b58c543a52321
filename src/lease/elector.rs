//! Acquires, renews and releases the lease.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use kube::api::PostParams;
use kube::{Api, Client};
use rand::RngExt;
use tokio_util::sync::CancellationToken;

use super::election::{Election, ElectionStep};
use super::{Config, Leadership};
use crate::clock::{self, Clock, Instant};
use crate::model::redact::PublicText;
use crate::telemetry::log;

/// The share of the retry period by which candidates spread their attempts, as in client-go.
const JITTER: f64 = 1.2;

/// The error of a leader that could not renew its lease in time. All its work must stop.
#[derive(Debug, thiserror::Error)]
#[error("lost the lease {namespace}/{name}")]
pub(crate) struct LeaseLost {
    namespace: String,
    name: String,
}

#[derive(Debug, thiserror::Error)]
enum Error {
    // Not wrapped: a JSON log line holds an error's own words, and not those of its sources.
    #[error(transparent)]
    Api(Box<kube::Error>),
    #[error("timeout")]
    Timeout,
}

/// One replica's part in an election.
#[derive(Debug)]
pub(crate) struct Elector {
    api: Api<Lease>,
    config: Config,
    election: Election,
    leadership: Leadership,
    clock: Clock,
    /// The time at which the last successful renewal was sent; `None` for a candidate.
    renewed: Option<Instant>,
    /// True if another replica holds the lease that this one held.
    deposed: bool,
    /// The lease as last answered, which a renewal builds on without reading it again.
    lease: Option<Lease>,
    /// The holder of the lease in the last log line.
    known_holder: Option<String>,
}

impl Elector {
    /// Creates an elector. Its client must not be fenced by the [`Leadership`]: it writes without a lease.
    pub(crate) fn new(client: Client, config: Config, clock: Clock) -> Self {
        Self {
            api: Api::namespaced(client, &config.namespace),
            election: Election::new(config.clone()),
            leadership: Leadership::standby(clock.clone()),
            config,
            clock,
            renewed: None,
            deposed: false,
            lease: None,
            known_holder: None,
        }
    }

    /// Returns the leadership, which the rest of the process asks.
    pub(crate) fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Runs until `shutdown`, and gives the lease back then; call it once all work has stopped.
    pub(crate) async fn run(mut self, shutdown: CancellationToken) -> Result<(), LeaseLost> {
        let result = shutdown.run_until_cancelled(self.lead()).await;
        self.leadership.end();
        if let Some(lost) = result {
            return Err(lost);
        }
        self.release().await;
        Ok(())
    }

    async fn lead(&mut self) -> LeaseLost {
        loop {
            self.try_once().await;
            if self.deposed
                || self
                    .renewed
                    .is_some_and(|sent| self.remaining(sent).is_zero())
            {
                return LeaseLost {
                    namespace: self.config.namespace.clone(),
                    name: self.config.name.clone(),
                };
            }
            clock::sleep(self.next_delay()).await;
        }
    }

    /// A leader renews on time, and wakes when its time is over; candidates spread their tries, as
    /// client-go's do, so that they do not ask all at once, and wake when the leader's time is over.
    fn next_delay(&self) -> Duration {
        let period = self.config.retry_period;
        if let Some(sent) = self.renewed {
            return period.min(self.remaining(sent));
        }
        let spread = period.mul_f64(1.0 + rand::rng().random_range(0.0..JITTER));
        let held = self
            .election
            .held_until()
            .map(|end| end.saturating_duration_since(clock::now()))
            .filter(|held| !held.is_zero());
        held.map_or(spread, |held| held.min(spread))
    }

    /// Returns the remaining time of a term that began at `sent`.
    fn remaining(&self, sent: Instant) -> Duration {
        (sent + self.config.renew_deadline).saturating_duration_since(clock::now())
    }

    async fn try_once(&mut self) {
        let half = self.config.renew_deadline / 2;
        let bound = self
            .renewed
            .map_or(half, |sent| half.min(self.remaining(sent)));
        let answer = tokio::time::timeout(bound, self.acquire_or_renew()).await;
        if let Err(error) = answer.map_err(|_| Error::Timeout).flatten() {
            // What we hold may be stale, or our write may have arrived after all: read it again.
            self.lease = None;
            let error = PublicText::outside_runs(error);
            log::warn!(
                "cannot renew the lease",
                error = error,
                lease = self.lease_name()
            );
        }
        self.log_holder();
    }

    async fn acquire_or_renew(&mut self) -> Result<(), Error> {
        let lease = match self.lease.take() {
            Some(lease) => Some(lease),
            None => self
                .api
                .get_opt(&self.config.name)
                .await
                .map_err(api_error)?,
        };
        let (sent, wall) = (clock::now(), self.clock.timestamp());
        if let Some(lease) = &lease {
            self.election.observe(lease, sent);
        }
        let params = PostParams::default();
        let lease = match self.election.step(lease, sent, wall) {
            ElectionStep::Create(lease) => self.api.create(&params, &lease).await,
            ElectionStep::Replace(lease) => {
                self.api.replace(&self.config.name, &params, &lease).await
            }
            ElectionStep::StandBy => {
                self.deposed = self.renewed.is_some();
                return Ok(());
            }
        }
        .map_err(api_error)?;
        self.election.observe(&lease, clock::now());
        self.lease = Some(lease);
        self.renewed = Some(sent);
        let term = self.config.renew_deadline;
        self.leadership.extend(sent + term, wall + term);
        Ok(())
    }

    fn lease_name(&self) -> PublicText {
        PublicText::outside_runs(&self.config.name)
    }

    fn log_holder(&mut self) {
        let holder = self.election.holder();
        if holder != self.known_holder.as_deref() {
            self.known_holder = holder.map(str::to_owned);
            let leads = holder == Some(&*self.config.identity);
            let holder = holder.map(PublicText::outside_runs);
            log::info!(
                "leader",
                lease = self.lease_name(),
                holder = holder,
                leads = leads
            );
        }
    }

    async fn release(&mut self) {
        let bound = self.config.renew_deadline / 2;
        let released = tokio::time::timeout(bound, self.clear_holder()).await;
        match released {
            Ok(Ok(())) => {}
            // The next replica waits for its end then.
            Ok(Err(error)) => {
                let error = PublicText::outside_runs(error);
                log::warn!(
                    "cannot release the lease",
                    error = error,
                    lease = self.lease_name()
                );
            }
            Err(_) => log::warn!(
                "cannot release the lease: timeout",
                lease = self.lease_name()
            ),
        }
    }

    async fn clear_holder(&mut self) -> Result<(), kube::Error> {
        if self.renewed.is_none() {
            return Ok(());
        }
        let held = match self.lease.take() {
            Some(held) => Some(held),
            // The last renewal was interrupted, so that its result is unknown.
            None => self.api.get_opt(&self.config.name).await?,
        };
        let wall = self.clock.timestamp();
        if let Some(free) = held.and_then(|held| self.election.released(held, wall)) {
            let params = PostParams::default();
            self.api.replace(&self.config.name, &params, &free).await?;
            log::info!("lease released", lease = self.lease_name());
        }
        Ok(())
    }
}

fn api_error(error: kube::Error) -> Error {
    Error::Api(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::VecDeque;
    use std::convert::Infallible;
    use std::sync::Arc;

    use http::{Method, Request, Response, StatusCode};
    use jiff::Timestamp;
    use kube::client::Body;
    use parking_lot::Mutex;
    use tower::service_fn;

    /// One lease with optimistic locking; answers as long as `up`.
    #[derive(Clone, Default)]
    struct Server(Arc<Mutex<ServerState>>);

    #[derive(Default)]
    struct ServerState {
        lease: Option<Lease>,
        version: u64,
        down: bool,
        holders: VecDeque<String>,
    }

    impl Server {
        fn client(&self) -> Client {
            let server = self.clone();
            let service = service_fn(move |request| {
                let server = server.clone();
                async move { Ok::<_, Infallible>(server.answer(request).await) }
            });
            Client::new(service, "default")
        }

        async fn answer(&self, request: Request<Body>) -> Response<Body> {
            let method = request.method().clone();
            let body = request.into_body().collect_bytes().await.unwrap();
            let mut state = self.0.lock();
            if state.down {
                return reply(StatusCode::SERVICE_UNAVAILABLE, &serde_json::json!({}));
            }
            let held = state.lease.clone();
            if method == Method::GET {
                return match held {
                    Some(lease) => reply(StatusCode::OK, &lease),
                    None => refuse(StatusCode::NOT_FOUND, "NotFound"),
                };
            }
            let mut lease: Lease = serde_json::from_slice(&body).unwrap();
            let version = held.and_then(|lease| lease.metadata.resource_version);
            if lease.metadata.resource_version != version {
                return refuse(StatusCode::CONFLICT, "Conflict");
            }
            state.version += 1;
            lease.metadata.resource_version = Some(state.version.to_string());
            let holder = lease.spec.clone().unwrap().holder_identity.unwrap();
            if state.holders.back() != Some(&holder) {
                state.holders.push_back(holder);
            }
            state.lease = Some(lease.clone());
            reply(StatusCode::OK, &lease)
        }
    }

    fn reply(code: StatusCode, body: &impl serde::Serialize) -> Response<Body> {
        let body = Body::from(serde_json::to_vec(body).unwrap());
        Response::builder().status(code).body(body).unwrap()
    }

    fn refuse(code: StatusCode, reason: &str) -> Response<Body> {
        let status = serde_json::json!({
            "kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure",
            "reason": reason, "message": reason, "code": code.as_u16(),
        });
        reply(code, &status)
    }

    /// A wall clock that goes with tokio's.
    fn clock() -> Clock {
        let start = clock::now();
        Clock::from_fn(move || Timestamp::UNIX_EPOCH + clock::now().duration_since(start))
    }

    fn mk_elector(server: &Server, identity: &str) -> Elector {
        Elector::new(
            server.client(),
            Config::new("ns", "lease", identity),
            clock(),
        )
    }

    /// A renewal is seen by the next try at the latest, and from then on the lease's time is waited.
    #[tokio::test(start_paused = true)]
    async fn a_standby_takes_over_when_the_leader_vanishes() {
        for killed_after in (60_000..70_000).step_by(53) {
            let server = Server::default();
            let (a, b) = (mk_elector(&server, "a"), mk_elector(&server, "b"));
            let Config {
                lease_duration,
                retry_period,
                ..
            } = a.config.clone();
            let (a_leads, b_leads) = (a.leadership(), b.leadership());
            let a = tokio::spawn(a.run(CancellationToken::new()));
            a_leads.acquired().await;
            let b = tokio::spawn(b.run(CancellationToken::new()));
            clock::sleep(Duration::from_millis(killed_after)).await;
            assert_eq!(b_leads.write_deadline(), None, "a renews");
            a.abort();
            let killed = clock::now();
            b_leads.acquired().await;
            let waited = clock::now() - killed;
            // Timers of tokio are late by up to a millisecond each.
            let latest = lease_duration + retry_period.mul_f64(1.0 + JITTER);
            let earliest = lease_duration.saturating_sub(retry_period);
            let bounds = earliest..latest + Duration::from_millis(5);
            assert!(bounds.contains(&waited), "{waited:?} is not in {bounds:?}");
            assert_eq!(server.0.lock().holders, ["a", "b"]);
            b.abort();
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_shuts_down_gives_the_lease_back() {
        let server = Server::default();
        let (a, b) = (mk_elector(&server, "a"), mk_elector(&server, "b"));
        let (a_leads, b_leads) = (a.leadership(), b.leadership());
        let shutdown = CancellationToken::new();
        let a = tokio::spawn(a.run(shutdown.clone()));
        a_leads.acquired().await;
        let _b = tokio::spawn(b.run(CancellationToken::new()));
        clock::sleep(Duration::from_secs(10)).await;
        shutdown.cancel();
        a.await.unwrap().unwrap();
        assert_eq!(a_leads.write_deadline(), None);
        let released = clock::now();
        b_leads.acquired().await;
        assert!(clock::now() - released < Duration::from_secs(5));
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_cannot_renew_ends_before_another_may_begin() {
        let server = Server::default();
        let a = mk_elector(&server, "a");
        let leads = a.leadership();
        let a = tokio::spawn(a.run(CancellationToken::new()));
        leads.acquired().await;
        server.0.lock().down = true;
        let down = clock::now();
        assert!(a.await.unwrap().is_err());
        let lasted = clock::now() - down;
        assert!(lasted <= Duration::from_secs(10), "{lasted:?}");
        assert!(lasted >= Duration::from_secs(7), "{lasted:?}");
        assert_eq!(leads.write_deadline(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn an_outage_shorter_than_the_deadline_is_survived() {
        let server = Server::default();
        let a = mk_elector(&server, "a");
        let leads = a.leadership();
        let _a = tokio::spawn(a.run(CancellationToken::new()));
        leads.acquired().await;
        server.0.lock().down = true;
        clock::sleep(Duration::from_secs(6)).await;
        server.0.lock().down = false;
        clock::sleep(Duration::from_secs(20)).await;
        assert!(leads.write_deadline().is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_leader_that_sees_another_holder_stops_at_once() {
        let server = Server::default();
        let a = mk_elector(&server, "a");
        let leads = a.leadership();
        let a = tokio::spawn(a.run(CancellationToken::new()));
        leads.acquired().await;
        {
            let mut state = server.0.lock();
            let mut lease = state.lease.clone().unwrap();
            lease.spec.as_mut().unwrap().holder_identity = Some("thief".to_owned());
            lease.metadata.resource_version = Some("99".to_owned());
            state.lease = Some(lease);
        }
        let stolen = clock::now();
        assert!(a.await.unwrap().is_err());
        assert!(clock::now() - stolen <= Duration::from_secs(4));
    }

    /// The times in a lease are those of its holder's clock, which another replica does not compare with its own.
    #[tokio::test(start_paused = true)]
    async fn a_wall_clock_that_jumps_changes_no_leader() {
        let server = Server::default();
        let offset = Arc::new(Mutex::new(jiff::SignedDuration::ZERO));
        let jumping = || {
            let (offset, steady) = (Arc::clone(&offset), clock());
            Clock::from_fn(move || steady.timestamp() + *offset.lock())
        };
        let replica = |identity, clock| {
            Elector::new(server.client(), Config::new("ns", "lease", identity), clock)
        };
        for (leader, standby) in [(clock(), jumping()), (jumping(), clock())] {
            server.0.lock().holders.clear();
            let (leader, standby) = (replica("a", leader), replica("b", standby));
            let leads = leader.leadership();
            let leader = tokio::spawn(leader.run(CancellationToken::new()));
            leads.acquired().await;
            let standby = tokio::spawn(standby.run(CancellationToken::new()));
            for hours in [5, -5, 0] {
                *offset.lock() = jiff::SignedDuration::from_hours(hours);
                clock::sleep(Duration::from_mins(1)).await;
                assert!(leads.write_deadline().is_some(), "{hours} hours");
            }
            assert_eq!(server.0.lock().holders, ["a"]);
            leader.abort();
            standby.abort();
            server.0.lock().lease = None;
        }
    }
}
