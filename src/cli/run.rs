//! `rhai-operator run`: the operator as a process.

use std::time::Duration;

use clap::Args;

use super::Exit;
use super::connection::Connection;
use super::logging::Logging;
use super::project::Project;

/// Everything that can be said to the operator from outside; each flag has an environment variable.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    project: Project,
    #[command(flatten)]
    connection: Connection,
    /// Namespaces to watch, separated by commas; none means all.
    #[arg(
        long,
        value_name = "NAMES",
        env = "WATCH_NAMESPACE",
        value_delimiter = ','
    )]
    watch_namespace: Vec<String>,
    /// Where to serve metrics; 0 turns them off.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "RHAI_OPERATOR_METRICS_BIND_ADDRESS",
        default_value = ":8080"
    )]
    metrics_bind_address: String,
    /// Where to serve /healthz and /readyz; 0 turns them off.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "RHAI_OPERATOR_HEALTH_PROBE_BIND_ADDRESS",
        default_value = ":8081"
    )]
    health_probe_bind_address: String,
    /// Let one of several replicas work while the others stand by.
    #[arg(long, env = "RHAI_OPERATOR_LEADER_ELECT")]
    leader_elect: bool,
    /// Name of the lease that replicas compete for.
    #[arg(
        long,
        value_name = "NAME",
        env = "RHAI_OPERATOR_LEADER_ELECTION_ID",
        default_value = "rhai-operator"
    )]
    leader_election_id: String,
    /// Namespace of the lease; in a cluster it defaults to this process's own.
    #[arg(
        long,
        value_name = "NAME",
        env = "RHAI_OPERATOR_LEADER_ELECTION_NAMESPACE"
    )]
    leader_election_namespace: Option<String>,
    /// How many CRs of one kind are reconciled at a time; by default what the CPU quota suggests.
    #[arg(
        long,
        value_name = "N",
        env = "RHAI_OPERATOR_MAX_CONCURRENT_RECONCILES"
    )]
    max_concurrent_reconciles: Option<std::num::NonZeroUsize>,
    /// How often a CR is reconciled though nothing changed; 0s means never.
    #[arg(long, value_name = "DURATION", env = "RHAI_OPERATOR_RECONCILE_PERIOD", default_value = "10h", value_parser = duration)]
    reconcile_period: Duration,
    /// How long a shutdown waits for running reconciles before it cancels them.
    #[arg(long, value_name = "DURATION", env = "RHAI_OPERATOR_GRACEFUL_SHUTDOWN_TIMEOUT", default_value = "30s", value_parser = duration)]
    graceful_shutdown_timeout: Duration,
    #[command(flatten)]
    logging: Logging,
}

fn duration(text: &str) -> Result<Duration, String> {
    text.strip_suffix('s')
        .and_then(|seconds| seconds.parse().ok())
        .or_else(|| Some(text.strip_suffix('h')?.parse::<u64>().ok()? * 3600))
        .map(Duration::from_secs)
        .ok_or_else(|| "expected a duration like 1m30s".to_owned())
}

impl Options {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let _runtime = super::runtime()?;
        anyhow::bail!("run is not built in yet: {self:?}")
    }
}
