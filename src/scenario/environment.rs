//! The environment of a scenario, with its clock: a cluster, or an API server of its own in this process.
//!
//! On the embedded API, time is paused while a task is running. It advances when the operator is idle and
//! the scenario waits, or when a script advances it. On a cluster, time is real.

use std::sync::Arc;
use std::sync::mpsc;
use std::time::Duration;

use kube::Client;
use tokio::task::JoinHandle;

use super::failure::Failure;
use super::requests::Requests;
use super::runs::Runs;
use crate::clock::{self, Clock, Stopwatch};
use crate::cluster::connect::{self, Source, connect};
use embedded_apiserver::simulation::Control;
use embedded_apiserver::{self as apiserver, ApiServer};

/// The target of scenario tests.
#[derive(Clone, Debug)]
pub(crate) enum Target {
    /// Each on an API server of its own, in this process.
    Embedded,
    /// All on one cluster, one after the other.
    Cluster {
        /// Kubeconfig file.
        kubeconfig: Option<std::path::PathBuf>,
        /// Its context.
        context: Option<String>,
    },
}

/// The number of consecutive rounds without work after which the runtime is idle. A round runs all tasks
/// that are ready. An event takes a few rounds from the server to the operator's queue.
const IDLE_ROUNDS: usize = 25;
/// The time after which the operator counts as never idle. It usually works for a few milliseconds.
const SETTLE_TIMEOUT: Duration = Duration::from_secs(30);
/// On a cluster: the time without work after which the operator counts as idle.
const CLUSTER_QUIET_TIME: Duration = Duration::from_millis(300);
/// On a cluster: the time between two checks.
const CLUSTER_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// On the embedded API: the time that passes between two checks of an expectation.
const TIME_STEP: Duration = Duration::from_millis(250);
/// No advance takes more steps than this.
const MAX_STEPS: u32 = 600;

/// The environment of one scenario: an API server in this process, or the cluster.
pub(super) struct Environment {
    client: Client,
    clock: Clock,
    embedded: Option<Embedded>,
    /// The runs of the operator.
    pub(super) runs: Arc<Runs>,
    pub(super) requests: Arc<Requests>,
}

struct Embedded {
    server: ApiServer,
    workloads: Control,
    driver: JoinHandle<()>,
    /// A guard. Until it is dropped, time passes only when the environment advances it.
    _frozen: mpsc::Sender<()>,
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Environment {
    /// Comes up. For the embedded API the runtime's time must be paused.
    pub(super) async fn start(target: &Target) -> Result<Self, Failure> {
        let (client, clock, embedded) = match target {
            Target::Embedded => {
                let standing = freeze_time();
                let clock = runtime_clock();
                let workloads = Control::new();
                let server = ApiServer::new(apiserver::Options {
                    clock: clock.clone(),
                    simulation: workloads.clone(),
                    ..apiserver::Options::default()
                });
                let client = server.client();
                let embedded = Embedded {
                    workloads,
                    driver: tokio::spawn(server.clone().drive()),
                    server,
                    _frozen: standing,
                };
                (client, clock, Some(embedded))
            }
            Target::Cluster {
                kubeconfig,
                context,
            } => {
                let options = connect::Options {
                    source: Source::Configured {
                        kubeconfig: kubeconfig.clone(),
                        context: context.clone(),
                    },
                    ..connect::Options::default()
                };
                let connection = connect(options).await.map_err(|error| {
                    let cause = std::error::Error::source(&error).map(ToString::to_string);
                    Failure::new(error.to_string()).with_details(cause.unwrap_or_default())
                })?;
                (connection.client, Clock::system(), None)
            }
        };
        Ok(Self {
            client,
            clock,
            embedded,
            runs: Arc::default(),
            requests: Arc::default(),
        })
    }

    /// Returns the client of the scenario itself.
    pub(super) fn client(&self) -> Client {
        self.client.clone()
    }

    /// Returns the wall clock.
    pub(super) fn clock(&self) -> Clock {
        self.clock.clone()
    }

    /// Returns whether it is the embedded API.
    pub(super) fn is_embedded(&self) -> bool {
        self.embedded.is_some()
    }

    /// Holds, releases or fails workloads; false where only a cluster's own controllers can.
    pub(super) fn control_workloads(&self, direct: impl FnOnce(&Control)) -> bool {
        let Some(embedded) = &self.embedded else {
            return false;
        };
        direct(&embedded.workloads);
        embedded.server.settle();
        true
    }

    /// Waits until the operator is idle.
    pub(super) async fn settle(&self) -> Result<(), Failure> {
        let (runs, requests) = (Arc::clone(&self.runs), Arc::clone(&self.requests));
        // The check runs as a task, so that the runtime schedules the operator's tasks between two checks.
        let settled = if self.is_embedded() {
            tokio::spawn(settle_embedded(runs, requests))
        } else {
            tokio::spawn(settle_cluster(runs, requests))
        };
        settled
            .await
            .unwrap_or_else(|error| Err(Failure::new(error.to_string())))
    }

    /// Lets time pass: on the embedded API in steps, between which everything comes to rest.
    pub(super) async fn advance(&self, time: Duration) -> Result<(), Failure> {
        if !self.is_embedded() {
            clock::sleep(time).await;
            return Ok(());
        }
        let step = (time / MAX_STEPS).max(TIME_STEP);
        let mut left = time;
        while !left.is_zero() {
            self.settle().await?;
            let now = step.min(left);
            advance_runtime(now).await;
            left -= now;
        }
        self.settle().await
    }

    /// Advances the time a little before the next check.
    pub(super) async fn wait_before_retry(&self) {
        if self.is_embedded() {
            advance_runtime(TIME_STEP).await;
        } else {
            clock::sleep(CLUSTER_POLL_INTERVAL * 10).await;
        }
    }
}

/// Advances the runtime's time from a task of its own.
async fn advance_runtime(time: Duration) {
    // It can only fail where the runtime shuts down.
    let _ = tokio::spawn(clock::advance(time)).await;
}

/// Creates a wall clock that follows the time of the runtime.
fn runtime_clock() -> Clock {
    let (start, base) = (clock::now(), Clock::system().timestamp());
    Clock::from_fn(move || base.checked_add(start.elapsed()).unwrap_or(base))
}

/// Prevents paused time from advancing to the next timer when the runtime is idle, for example while a
/// script runs on its own thread. Tokio does not advance the time while a blocking task runs.
fn freeze_time() -> mpsc::Sender<()> {
    let (standing, gone) = mpsc::channel::<()>();
    tokio::task::spawn_blocking(move || {
        let _ = gone.recv();
    });
    standing
}

async fn settle_embedded(runs: Arc<Runs>, requests: Arc<Requests>) -> Result<(), Failure> {
    let since = Stopwatch::start();
    let mut seen = (requests.started(), runs.count());
    let mut looks = 0;
    while looks < IDLE_ROUNDS {
        tokio::task::yield_now().await;
        let now = (requests.started(), runs.count());
        if now == seen && requests.all_answered() && runs.is_idle() {
            looks += 1;
            continue;
        }
        (looks, seen) = (0, now);
        if since.elapsed() > SETTLE_TIMEOUT {
            return Err(not_settled(SETTLE_TIMEOUT));
        }
        // A script is running on another thread, which may need this CPU.
        std::thread::yield_now();
    }
    Ok(())
}

async fn settle_cluster(runs: Arc<Runs>, requests: Arc<Requests>) -> Result<(), Failure> {
    let since = Stopwatch::start();
    let mut seen = (requests.started(), runs.count());
    let mut calm = Stopwatch::start();
    while calm.elapsed() < CLUSTER_QUIET_TIME {
        clock::sleep(CLUSTER_POLL_INTERVAL).await;
        let now = (requests.started(), runs.count());
        if now != seen || !requests.all_answered() || !runs.is_idle() {
            (calm, seen) = (Stopwatch::start(), now);
        }
        if since.elapsed() > SETTLE_TIMEOUT * 2 {
            return Err(not_settled(SETTLE_TIMEOUT * 2));
        }
    }
    Ok(())
}

fn not_settled(time: Duration) -> Failure {
    let message = format!(
        "the operator did not become idle within {} s",
        time.as_secs()
    );
    Failure::new(message)
        .with_details("check whether each run changes an object that triggers the next run")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn time_advances_only_on_request() {
        let environment = Environment::start(&Target::Embedded).await.unwrap();
        let (start, clock) = (clock::now(), environment.clock());
        let woken = tokio::spawn(clock::sleep(Duration::from_secs(90)));
        let before = clock.timestamp();
        environment.settle().await.unwrap();
        assert_eq!(clock::now(), start);
        environment.advance(Duration::from_secs(89)).await.unwrap();
        assert!(!woken.is_finished());
        environment.advance(Duration::from_secs(2)).await.unwrap();
        assert!(woken.is_finished());
        assert_eq!(start.elapsed(), Duration::from_secs(91));
        let passed = clock.timestamp().duration_since(before);
        assert_eq!(passed.as_secs(), 91);
    }
}
