//! A cluster, real or embedded: the one that all tests of a ground share, or one of a test's own.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::sync::{Mutex, OnceCell};

use super::audit::Audit;
use super::embedded::{self, Embedded};
use super::supervisor::Supervisor;
use super::{Ground, OnEach, run_folder};

static SHARED: OnEach<OnceCell<Arc<Cluster>>> = OnEach {
    real: OnceCell::const_new(),
    embedded: OnceCell::const_new(),
};
static STARTING: Mutex<()> = Mutex::const_new(());

/// A running Kubernetes, seen by its administrator.
pub(crate) struct Cluster {
    /// Which of the two it is.
    pub(crate) ground: Ground,
    /// The administrator's client.
    pub(crate) client: Client,
    /// The requests that the API server served.
    pub(crate) audit: Audit,
    folder: PathBuf,
    kubeconfig: PathBuf,
    /// Ends it, and what it has adopted, however this process ends.
    supervisor: Supervisor,
    _embedded: Option<Embedded>,
}

impl Cluster {
    /// The cluster of this test binary; the first caller starts it.
    pub(crate) async fn shared(ground: Ground) -> anyhow::Result<Arc<Self>> {
        let start = || Self::start(ground);
        SHARED.on(ground).get_or_try_init(start).await.cloned()
    }

    /// A cluster of a test's own, for tests that stop parts of it. It ends when it is dropped.
    pub(crate) async fn start(ground: Ground) -> anyhow::Result<Arc<Self>> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = run_folder::make(&format!("cluster-{number}"))?;
        // Two clusters that start at a time would race for ports and starve each other.
        let _turn = STARTING.lock().await;
        let (supervisor, kubeconfig, embedded) = match ground {
            Ground::Real => {
                let (supervisor, kubeconfig) = Supervisor::start(&folder).await?;
                (supervisor, kubeconfig, None)
            }
            Ground::Embedded => {
                let (embedded, kubeconfig) = embedded::start(&folder).await?;
                (
                    Supervisor::of_nothing(&folder).await?,
                    kubeconfig,
                    Some(embedded),
                )
            }
        };
        let client = Client::try_from(config(&kubeconfig).await?)?;
        Ok(Arc::new(Self {
            ground,
            audit: Audit::new(folder.join("audit.log"), client.clone()),
            client,
            folder,
            kubeconfig,
            supervisor,
            _embedded: embedded,
        }))
    }

    /// Stops the shared clusters, if they were started.
    pub(super) async fn stop_shared() {
        for shared in [&SHARED.real, &SHARED.embedded] {
            if let Some(cluster) = shared.get() {
                cluster.supervisor.stop().await;
            }
        }
    }

    /// Where it keeps its files.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// The kubeconfig file of the administrator.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Stops one of the cluster's processes in an orderly way. Only on a cluster of one's own.
    pub(crate) async fn stop_process(&self, name: &str) -> anyhow::Result<()> {
        self.supervisor.tell(&format!("stop {name}")).await
    }

    /// Starts a process that was stopped.
    pub(crate) async fn start_process(&self, name: &str) -> anyhow::Result<()> {
        self.supervisor.tell(&format!("start {name}")).await
    }

    /// Lets a process end with the cluster, however this test ends.
    pub(super) async fn adopt(&self, process: u32) -> anyhow::Result<()> {
        self.supervisor.tell(&format!("adopt {process}")).await
    }

    /// Takes a process back that has ended.
    pub(super) async fn release(&self, process: u32) -> anyhow::Result<()> {
        self.supervisor.tell(&format!("release {process}")).await
    }
}

/// A kubeconfig file as kube-rs reads it.
pub(super) async fn config(kubeconfig: &Path) -> anyhow::Result<Config> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    Ok(Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await?)
}
