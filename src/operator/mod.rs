//! One process: load the project, connect, watch, lead, run, shut down.
//!
//! # Flow
//! The project is loaded first: if it has an error, nothing starts. Then the servers listen, the watches
//! fill the caches, and the process requests the lease, if there is one. Runs begin when this process
//! leads. A changed project is served without a restart. An invalid one is refused and its errors are
//! logged, and the last valid one remains in use.
//!
//! # Shutdown
//! After a signal no new run begins. Current runs have [`Options::drain`] to end, and are then cancelled.
//! Then the lease is released. If the lease is lost, runs are cancelled at once.

mod error;
mod loader;
mod options;
mod replica;
mod request_metrics;
mod signals;

use std::sync::Arc;
use std::time::Duration;

use tokio::runtime::Handle;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

pub(crate) use self::error::Error;
use self::loader::Loader;
pub(crate) use self::options::{ElectionOptions, Options};
use self::replica::Replica;
use crate::backoff::Backoff;
use crate::cluster::connect::{self, Connection};
use crate::cluster::{Cluster, Settings};
use crate::controller::{self, Controller, LoopLimits, Telemetry};
use crate::model::OperatorId;
use crate::model::redact::PublicText;
use crate::reconcile::Context;
use crate::role::{Project, Toolchain};
use crate::script::Pool;
use crate::server::{self, Server};
use crate::telemetry::log;
use crate::telemetry::readiness::PartState;
use crate::watches::{Namespaces, Watch};

/// The maximum number of concurrent runs of all kinds, unless one kind is allowed more. Each run occupies a
/// thread during its script.
const MAX_RUNS: usize = 64;

/// The default time between runs without a change.
pub(crate) const DEFAULT_PERIOD: Duration = Duration::from_hours(10);

/// Cancelled by the first SIGTERM or SIGINT.
pub(crate) fn shutdown() -> Result<CancellationToken, Error> {
    signals::shutdown().map_err(Error::Signals)
}

/// Runs an operator until a signal ends it. Roles are compiled with `toolchain`.
pub(crate) async fn run(options: Options, toolchain: Toolchain) -> Result<(), Error> {
    run_until(options, toolchain, shutdown()?).await
}

/// Runs an operator until `shutdown` is cancelled.
pub(crate) async fn run_until(
    options: Options,
    toolchain: Toolchain,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    let loader = Loader::new(&options, toolchain);
    let files = loader.watch();
    let project = loader.load().await.map_err(Error::Project)?;
    loader.report(&project.notes);
    let telemetry = Telemetry {
        observer: options.observer.clone(),
        ..Telemetry::default()
    };
    let connection = connect(&options, &project, &telemetry).await?;
    let server = Some(&*connection.host).filter(|host| !host.is_empty());
    log::info!(
        "starting",
        version = env!("CARGO_PKG_VERSION"),
        server = server.map(PublicText::outside_runs),
        watches = project.watches.len(),
        roles = project.roles.names().count(),
    );
    // Before discovery has answered, no watch determines the readiness.
    let starting = telemetry.readiness.part(
        "operator",
        PartState::NotReady("not started yet".to_owned()),
    );
    let mut servers = JoinSet::new();
    let serving = CancellationToken::new();
    for server in bind(&options, &telemetry).await? {
        servers.spawn(server.run(serving.clone()));
    }
    let replica = options
        .election
        .as_ref()
        .map(|election| Replica::start(&options.name, election, &connection, &telemetry.metrics));
    let cluster = match &replica {
        Some(replica) => replica.with_write_deadline(&connection.cluster),
        None => connection.cluster.clone(),
    };
    let holder = holder(&options, &connection);
    let total = total_runs(options.max_concurrent, &project.watches);
    let controller = build(&options, cluster, holder, &loader, telemetry, total);
    if let Some(observer) = &options.observer {
        observer.serving(&controller);
    }
    controller.serve(&project).await;
    drop(starting);
    let reloading = loader.follow(files, {
        let controller = controller.clone();
        move |project| {
            let controller = controller.clone();
            async move { controller.serve(&project).await }
        }
    });
    let result = tokio::select! {
        result = work(&controller, replica, &shutdown, options.drain) => result,
        () = reloading => Ok(()),
    };
    serving.cancel();
    while servers.join_next().await.is_some() {}
    log::info!("stopped");
    result
}

/// Leads, runs, and stops running.
async fn work(
    controller: &Controller,
    leader: Option<Replica>,
    shutdown: &CancellationToken,
    drain: Duration,
) -> Result<(), Error> {
    let Some(mut leader) = leader else {
        controller.run(shutdown.clone(), drain).await;
        return Ok(());
    };
    let leadership = leader.leadership();
    tokio::select! {
        () = leadership.acquired() => {}
        () = shutdown.cancelled() => return leader.resign().await,
        lost = leader.lost() => return lost,
    }
    let work = shutdown.child_token();
    let running = controller.run(work.clone(), drain);
    tokio::pin!(running);
    tokio::select! {
        () = &mut running => leader.resign().await,
        lost = leader.lost() => {
            // Writes are refused from here on, so runs only need to end.
            work.cancel();
            controller.interrupt();
            running.await;
            lost
        }
    }
}

async fn connect(
    options: &Options,
    project: &Project,
    telemetry: &Telemetry,
) -> Result<Connection, Error> {
    let requests = Arc::new(request_metrics::RequestMetrics::new(
        telemetry.metrics.clone(),
    ));
    let connection = connect::connect(connect::Options {
        source: options.source.clone(),
        observer: Some(Arc::clone(&requests) as _),
        settings: Settings {
            namespaces: namespaces(project),
            ..Settings::default()
        },
    })
    .await
    .map_err(Error::Connect)?;
    requests.set_host(&connection.host);
    Ok(connection)
}

/// Returns the namespaces of children and references. If all watches have namespaces, the operator may
/// have no permissions in others.
fn namespaces(project: &Project) -> Option<std::collections::BTreeSet<Arc<str>>> {
    let mut all = std::collections::BTreeSet::new();
    for watch in &project.watches {
        match &watch.namespaces {
            Namespaces::All => return None,
            Namespaces::Only(names) => all.extend(names.iter().map(|name| name.as_str().into())),
        }
    }
    Some(all).filter(|all| !all.is_empty())
}

async fn bind(options: &Options, telemetry: &Telemetry) -> Result<Vec<Server>, Error> {
    let mut servers = Vec::new();
    if let Some(address) = &options.metrics_address {
        let router = server::metrics(telemetry.metrics.clone());
        let server = Server::bind("metrics", address, router).await;
        servers.push(server.map_err(Error::Server)?);
    }
    if let Some(address) = &options.health_address {
        let router = server::health(telemetry.readiness.clone(), telemetry.watchdog.clone());
        let server = Server::bind("health", address, router).await;
        servers.push(server.map_err(Error::Server)?);
    }
    Ok(servers)
}

/// Returns the identity of this operator, which restarts and replicas share. A lease or a Pod belongs to
/// one operator. Outside a cluster, the files of the project are the identity.
fn holder(options: &Options, connection: &Connection) -> OperatorId {
    let Options { name, election, .. } = options;
    match election {
        Some(ElectionOptions { namespace }) => {
            OperatorId::new(namespace.as_ref().unwrap_or(&connection.namespace), name)
        }
        None if connection.in_cluster => OperatorId::new(&connection.namespace, name),
        None => {
            let files = options.watches_file.canonicalize();
            let files = files.as_ref().unwrap_or(&options.watches_file);
            OperatorId::outside_cluster(&connection.namespace, name, files)
        }
    }
}

/// Returns the maximum number of concurrent runs: [`MAX_RUNS`], or the greatest limit of a single kind.
fn total_runs(default_limit: usize, watches: &[Arc<Watch>]) -> usize {
    let limits = watches.iter().filter_map(|watch| watch.max_concurrent);
    let greatest = limits.map(usize::from).max().unwrap_or_default();
    MAX_RUNS.max(default_limit).max(greatest)
}

fn build(
    options: &Options,
    cluster: Cluster,
    holder: OperatorId,
    loader: &Loader,
    telemetry: Telemetry,
    total: usize,
) -> Controller {
    let Toolchain { engine, .. } = loader.toolchain().clone();
    let pool = Arc::new(Pool::new(engine, total, Handle::current()));
    let mut context = Context::new(cluster, pool, options.clock.clone());
    context.allow_env.clone_from(&options.allow_env);
    context.holder = Some(holder);
    context.limits = options.limits;
    let settings = controller::Settings {
        max_concurrent: options.max_concurrent,
        total,
        period: options.period,
        backoff: Backoff::RECONCILE,
        run_rate: options.run_rate,
        conflicts: LoopLimits::default(),
    };
    Controller::new(context, settings, telemetry)
}

#[cfg(test)]
mod tests {
    use std::num::NonZeroUsize;

    use super::*;
    use crate::model::Gvk;

    #[test]
    fn a_limit_of_one_kind_raises_the_total() {
        let watch = |limit| {
            let mut watch = Watch::new(Gvk::new("ex.io", "v1", "Site"), "site");
            watch.max_concurrent = NonZeroUsize::new(limit);
            Arc::new(watch)
        };
        assert_eq!(total_runs(4, &[watch(0), watch(8)]), MAX_RUNS);
        assert_eq!(total_runs(4, &[watch(8), watch(100)]), 100);
        assert_eq!(total_runs(200, &[watch(100)]), 200);
    }
}
