//! The leader election of this replica.

use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::error::Error;
use super::options::ElectionOptions;
use crate::clock::Clock;
use crate::cluster::Cluster;
use crate::cluster::connect::Connection;
use crate::lease::{self, Elector, Leadership, LeaseLost};
use crate::telemetry::Metrics;

/// The task of the election, and its state.
pub(super) struct Replica {
    leadership: Leadership,
    resign: CancellationToken,
    task: JoinHandle<Result<(), LeaseLost>>,
}

impl Replica {
    pub(super) fn start(
        name: &str,
        election: &ElectionOptions,
        connection: &Connection,
        metrics: &Metrics,
    ) -> Self {
        let namespace = election.namespace.as_ref().unwrap_or(&connection.namespace);
        let config = lease::Config::new(namespace, name, identity());
        let elector = Elector::new(connection.client.clone(), config, Clock::system());
        let leadership = elector.leadership();
        let (leads, lease) = (leadership.subscribe(), name.to_owned());
        metrics.before_scrape(move |metrics| metrics.leads(&lease, *leads.borrow()));
        let resign = CancellationToken::new();
        let task = tokio::spawn(elector.run(resign.clone()));
        Self {
            leadership,
            resign,
            task,
        }
    }

    /// The cluster, whose writes are allowed only while this replica leads.
    pub(super) fn with_write_deadline(&self, cluster: &Cluster) -> Cluster {
        let leadership = self.leadership.clone();
        cluster.with_write_deadline(std::sync::Arc::new(move || leadership.write_deadline()))
    }

    pub(super) fn leadership(&self) -> Leadership {
        self.leadership.clone()
    }

    /// Returns when this replica has lost or released the lease.
    pub(super) async fn lost(&mut self) -> Result<(), Error> {
        (&mut self.task)
            .await
            .map_err(Error::Panicked)?
            .map_err(Error::Lost)
    }

    /// Releases the lease. All work must have stopped.
    pub(super) async fn resign(mut self) -> Result<(), Error> {
        self.resign.cancel();
        self.lost().await
    }
}

/// Returns a unique name for this replica, which contains the name of the Pod.
fn identity() -> String {
    let host = std::env::var("HOSTNAME").unwrap_or_else(|_| "rhai-operator".to_owned());
    format!("{host}_{:016x}", rand::random::<u64>())
}
