//! `rhai-operator run`: the operator as a process.

use std::num::{NonZeroU32, NonZeroUsize};
use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::Exit;
use super::connection::Connection;
use super::explicit_flags::ExplicitFlags;
use super::limits::RunLimits;
use super::logging::{DefaultFilter, Logging};
use super::project::Project;
use crate::clock::Clock;
use crate::controller::RunRate;
use crate::role::Toolchain;
use crate::server::{Address, MalformedAddress};
use crate::watches::Environment;
use crate::{model, operator};

/// The settings of the operator. Each flag has an environment variable.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    explicit_flags: ExplicitFlags,
    #[command(flatten)]
    project: Project,
    #[command(flatten)]
    connection: Connection,
    /// Namespaces to watch, separated by commas. Default: all namespaces.
    #[arg(long, value_name = "NAMES", env = "WATCH_NAMESPACE")]
    watch_namespace: Option<String>,
    /// Address of the metrics server; 0 disables it.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "RHAI_OPERATOR_METRICS_BIND_ADDRESS",
        default_value = ":8080"
    )]
    metrics_bind_address: Endpoint,
    /// Address of the server of /healthz and /readyz; 0 disables it.
    #[arg(
        long,
        value_name = "ADDRESS",
        env = "RHAI_OPERATOR_HEALTH_PROBE_BIND_ADDRESS",
        default_value = ":8081"
    )]
    health_probe_bind_address: Endpoint,
    /// Elect one of several replicas as the leader; the others stand by.
    #[arg(
        long,
        env = "RHAI_OPERATOR_LEADER_ELECT",
        value_name = "BOOL",
        num_args = 0..=1,
        require_equals = true,
        default_value = "false",
        default_missing_value = "true",
        value_parser = BoolishValueParser::new()
    )]
    leader_elect: bool,
    /// Name of the lease for leader election. Each operator in a namespace needs its own name.
    #[arg(
        long,
        value_name = "NAME",
        env = "RHAI_OPERATOR_LEADER_ELECTION_ID",
        default_value = "rhai-operator",
        value_parser = name
    )]
    leader_election_id: String,
    /// Namespace of the lease. Default in a cluster: the namespace of this process.
    #[arg(
        long,
        value_name = "NAME",
        env = "RHAI_OPERATOR_LEADER_ELECTION_NAMESPACE",
        value_parser = name
    )]
    leader_election_namespace: Option<String>,
    /// Maximum number of concurrent runs per kind. Default: 4 per CPU of the quota.
    #[arg(
        long,
        value_name = "N",
        env = "RHAI_OPERATOR_MAX_CONCURRENT_RECONCILES",
        value_parser = count
    )]
    max_concurrent_reconciles: Option<NonZeroUsize>,
    /// Interval after which a CR is reconciled even if nothing changed; 0s disables it.
    #[arg(long, value_name = "DURATION", env = "RHAI_OPERATOR_RECONCILE_PERIOD", default_value = "10h", value_parser = duration)]
    reconcile_period: Duration,
    /// Maximum number of runs of one CR per minute. A new generation, a deletion and a reconcile-at
    /// request are not limited.
    #[arg(
        long,
        value_name = "N",
        env = "RHAI_OPERATOR_MAX_RUNS_PER_MINUTE",
        default_value = "300",
        value_parser = runs
    )]
    max_runs_per_minute: NonZeroU32,
    /// Time that a shutdown waits for runs before it cancels them.
    #[arg(long, value_name = "DURATION", env = "RHAI_OPERATOR_GRACEFUL_SHUTDOWN_TIMEOUT", default_value = "30s", value_parser = duration)]
    graceful_shutdown_timeout: Duration,
    #[command(flatten)]
    limits: RunLimits,
    #[command(flatten)]
    logging: Logging,
}

impl Options {
    pub(super) fn run(self, toolchain: Toolchain) -> anyhow::Result<Exit> {
        self.project.check_flags()?;
        if let Some(namespaces) = &self.watch_namespace
            && self.explicit_flags.contains("watch_namespace")
            && let Some(name) = invalid_namespace(namespaces)
        {
            return Ok(super::usage_error(&format!(
                "--watch-namespace: expected names of namespaces, as in team-a,team-b, found {name:?}"
            ))?);
        }
        let Self {
            explicit_flags: _,
            project:
                Project {
                    watches_file,
                    roles_dir,
                    allow_env,
                    allow_http: _,
                },
            connection,
            watch_namespace,
            metrics_bind_address,
            health_probe_bind_address,
            leader_elect,
            leader_election_id,
            leader_election_namespace,
            max_concurrent_reconciles,
            reconcile_period,
            max_runs_per_minute,
            graceful_shutdown_timeout,
            limits,
            logging,
        } = self;
        logging.init(DefaultFilter::Info)?;
        let options = operator::Options {
            watches_file,
            roles_dir,
            environment: environment(watch_namespace),
            allow_env,
            source: connection.source(),
            clock: Clock::system(),
            observer: None,
            metrics_address: metrics_bind_address.0,
            health_address: health_probe_bind_address.0,
            name: leader_election_id,
            election: leader_elect.then_some(operator::ElectionOptions {
                namespace: leader_election_namespace,
            }),
            max_concurrent: max_concurrent_reconciles.map_or_else(default_concurrency, usize::from),
            period: reconcile_period,
            run_rate: RunRate {
                per_minute: max_runs_per_minute,
            },
            drain: graceful_shutdown_timeout,
            limits: limits.into(),
        };
        // Scripts run on their own threads. The runtime mostly waits for the server, and each additional
        // thread costs wake-ups between CPUs.
        let runtime = super::runtime(super::cpus().div_ceil(2))?;
        exit_code(runtime.block_on(operator::run(options, toolchain)))
    }
}

/// Returns the environment of this process, with the namespaces of the command line.
fn environment(watch_namespace: Option<String>) -> Environment {
    let mut environment = Environment::of_process();
    if let Some(namespaces) = watch_namespace {
        environment.set("WATCH_NAMESPACE", namespaces);
    }
    environment
}

/// Converts the result of an operator, and prints the errors of its project.
pub(super) fn exit_code(result: Result<(), operator::Error>) -> anyhow::Result<Exit> {
    let Err(operator::Error::Project(diagnostics)) = result else {
        return Ok(result.map(|()| Exit::Done)?);
    };
    super::print_diagnostics(&diagnostics)?;
    Ok(Exit::Failed)
}

/// Returns several runs per CPU: a run waits for the API server most of its time.
fn default_concurrency() -> usize {
    super::cpus() * 4
}

/// The address of a server, or `None` if it is disabled.
#[derive(Clone, Debug)]
struct Endpoint(Option<Address>);

impl FromStr for Endpoint {
    type Err = MalformedAddress;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Address::parse(text).map(Self)
    }
}

/// Parses the name of a lease or a namespace.
fn name(text: &str) -> Result<String, &'static str> {
    if model::syntax::is_dns_subdomain(text) {
        Ok(text.to_owned())
    } else {
        Err("expected lower case letters, digits, dashes and dots, as in my-operator")
    }
}

/// Returns the first name that is not a valid namespace.
fn invalid_namespace(names: &str) -> Option<&str> {
    let mut names = names.split(',').map(str::trim);
    names.find(|name| !name.is_empty() && !model::syntax::is_dns_label(name))
}

fn count(text: &str) -> Result<NonZeroUsize, &'static str> {
    text.parse()
        .map_err(|_| "expected a whole number of at least 1")
}

fn runs(text: &str) -> Result<NonZeroU32, &'static str> {
    text.parse()
        .map_err(|_| "expected a whole number of at least 1")
}

fn duration(text: &str) -> Result<Duration, String> {
    model::duration::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Parser)]
    struct Line {
        #[command(flatten)]
        options: Options,
    }

    #[test]
    fn the_bound_on_runs_is_the_one_of_the_controller() {
        let line = Line::try_parse_from(["run"]).ok().unwrap();
        let default = RunRate::default().per_minute;
        assert_eq!(line.options.max_runs_per_minute, default);
    }

    #[test]
    fn leader_election_is_switched_as_flags_of_go_are() {
        let parsed = |flags: &[&str]| {
            let line = Line::try_parse_from([&["run"], flags].concat());
            line.ok().map(|line| line.options.leader_elect)
        };
        assert_eq!(parsed(&[]), Some(false));
        assert_eq!(parsed(&["--leader-elect"]), Some(true));
        assert_eq!(parsed(&["--leader-elect=true"]), Some(true));
        assert_eq!(parsed(&["--leader-elect=false"]), Some(false));
        assert_eq!(parsed(&["--leader-elect=perhaps"]), None);
        assert_eq!(parsed(&["--leader-elect", "false"]), None, "an argument");
    }
}
