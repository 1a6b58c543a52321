//! A real or embedded cluster: shared by all tests of an environment, or owned by one test.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::{Mutex, OnceCell};

use crate::audit::AuditLog;
use crate::embedded::{self, Embedded};
use crate::supervisor::Supervisor;
use crate::{Environment, PerEnvironment, run_folder};

static SHARED: PerEnvironment<OnceCell<Arc<Cluster>>> = PerEnvironment {
    real: OnceCell::const_new(),
    embedded: OnceCell::const_new(),
};
static STARTING: Mutex<()> = Mutex::const_new(());

/// A running Kubernetes and its administrator's access.
pub struct Cluster {
    /// The kind of cluster.
    pub environment: Environment,
    /// The administrator's client.
    pub client: Client,
    /// The requests that the API server answered.
    pub audit: AuditLog,
    folder: PathBuf,
    kubeconfig: PathBuf,
    /// Ends the cluster and adopted processes, even if this process is killed.
    supervisor: Supervisor,
    _embedded: Option<Embedded>,
}

impl Cluster {
    /// Returns the cluster that all tests of this binary share. The first caller starts it.
    pub async fn shared(environment: Environment) -> anyhow::Result<Arc<Self>> {
        let start = || Self::start(environment);
        SHARED
            .get(environment)
            .get_or_try_init(start)
            .await
            .cloned()
    }

    /// Starts a cluster for one test, which may stop its processes. The cluster ends when it is dropped.
    pub async fn start(environment: Environment) -> anyhow::Result<Arc<Self>> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = run_folder::create(&format!("cluster-{number}"))?;
        // Two clusters that start at the same time would race for ports.
        let _turn = STARTING.lock().await;
        let (supervisor, kubeconfig, embedded) = match environment {
            Environment::Real => {
                let (supervisor, kubeconfig) = Supervisor::start(&folder).await?;
                (supervisor, kubeconfig, None)
            }
            Environment::Embedded => {
                let (embedded, kubeconfig) = embedded::start(&folder).await?;
                (
                    Supervisor::without_cluster(&folder).await?,
                    kubeconfig,
                    Some(embedded),
                )
            }
        };
        let client = Client::try_from(config(&kubeconfig).await?)?;
        Ok(Arc::new(Self {
            environment,
            audit: AuditLog::new(folder.join("audit.log"), client.clone()),
            client,
            folder,
            kubeconfig,
            supervisor,
            _embedded: embedded,
        }))
    }

    /// Stops the shared clusters that were started.
    pub(crate) async fn stop_shared() {
        for shared in [&SHARED.real, &SHARED.embedded] {
            if let Some(cluster) = shared.get() {
                cluster.supervisor.stop().await;
            }
        }
    }

    /// Returns the folder of the cluster's files.
    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Returns the administrator's kubeconfig file.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Stops a process of the cluster with SIGTERM. Use it only on a cluster that no other test shares.
    pub async fn stop_process(&self, name: &str) -> anyhow::Result<()> {
        self.supervisor.send(&format!("stop {name}")).await
    }

    /// Starts a process that [`Cluster::stop_process`] stopped.
    pub async fn start_process(&self, name: &str) -> anyhow::Result<()> {
        self.supervisor.send(&format!("start {name}")).await
    }

    /// Ends a process with the cluster, even if this test is killed.
    pub(crate) async fn adopt(&self, process: u32) -> anyhow::Result<()> {
        self.supervisor.send(&format!("adopt {process}")).await
    }

    /// Removes an ended process from those that end with the cluster.
    pub(crate) async fn release(&self, process: u32) -> anyhow::Result<()> {
        self.supervisor.send(&format!("release {process}")).await
    }
}

/// Returns a client with new connections for a kubeconfig file.
pub async fn client(kubeconfig: &Path) -> anyhow::Result<Client> {
    Ok(Client::try_from(config(kubeconfig).await?)?)
}

/// Reads a kubeconfig file with kube-rs.
pub(crate) async fn config(kubeconfig: &Path) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}
