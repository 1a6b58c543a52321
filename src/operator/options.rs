//! The options of an operator.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Clock;
use crate::cluster::connect;
use crate::controller::{self, RunRate};
use crate::script::Limits;
use crate::server::Address;
use crate::watches::Environment;

/// Options of an operator.
#[derive(Clone)]
pub(crate) struct Options {
    /// watches.yaml.
    pub watches_file: PathBuf,
    /// The folder of the roles.
    pub roles_dir: PathBuf,
    /// Environment variables that watches.yaml may name.
    pub environment: Environment,
    /// Environment variables that roles can read.
    pub allow_env: Vec<String>,
    /// The location of the cluster.
    pub source: connect::Source,
    /// The wall clock.
    pub clock: Clock,
    /// Observes every run.
    pub observer: Option<Arc<dyn controller::RunObserver>>,
    /// The address of the metrics server; `None` for no server.
    pub metrics_address: Option<Address>,
    /// The address of the health server; `None` for no server.
    pub health_address: Option<Address>,
    /// The name of the operator and of the lease that its replicas compete for.
    pub name: String,
    /// Leader election; `None` for a single replica.
    pub election: Option<ElectionOptions>,
    /// The maximum number of concurrent runs of a kind, if neither watches.yaml nor the environment sets
    /// it.
    pub max_concurrent: usize,
    /// The period of runs without a change; zero for none.
    pub period: Duration,
    /// The maximum rate of runs of one CR.
    pub run_rate: RunRate,
    /// The time that a shutdown waits for runs.
    pub drain: Duration,
    /// The limits of one run.
    pub limits: Limits,
}

/// Options of the leader election.
#[derive(Clone, Debug)]
pub(crate) struct ElectionOptions {
    /// The namespace of the lease. Default: that of the connection.
    pub namespace: Option<String>,
}
