//! A real cluster: the one that all tests share, or one of a test's own.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;
use tokio::sync::{Mutex, OnceCell};

use super::audit::Audit;
use super::run_folder;
use super::supervisor::{self, Supervisor};

static SHARED: OnceCell<Arc<Cluster>> = OnceCell::const_new();
static STARTING: Mutex<()> = Mutex::const_new(());

/// A running Kubernetes, seen by its administrator.
pub(crate) struct Cluster {
    /// The administrator's client.
    pub(crate) client: Client,
    /// The requests that the API server served.
    pub(crate) audit: Audit,
    kubeconfig: PathBuf,
    supervisor: Supervisor,
}

impl Cluster {
    /// The cluster of this test binary; the first caller starts it.
    pub(crate) async fn shared() -> anyhow::Result<Arc<Self>> {
        SHARED.get_or_try_init(Self::start).await.cloned()
    }

    /// A cluster of a test's own, for tests that stop parts of it. It ends when it is dropped.
    pub(crate) async fn start() -> anyhow::Result<Arc<Self>> {
        static STARTED: AtomicUsize = AtomicUsize::new(0);
        let number = STARTED.fetch_add(1, Ordering::Relaxed);
        let folder = run_folder::make(&format!("cluster-{number}"))?;
        // Two clusters that start at a time would race for ports and starve each other.
        let _turn = STARTING.lock().await;
        let (supervisor, kubeconfig) = Supervisor::start(&folder).await?;
        let client = Client::try_from(config(&kubeconfig).await?)?;
        Ok(Arc::new(Self {
            audit: Audit::new(folder.join("audit.log"), client.clone()),
            client,
            kubeconfig,
            supervisor,
        }))
    }

    /// Stops the shared cluster, if it was started.
    pub(super) async fn stop_shared() {
        if let Some(cluster) = SHARED.get() {
            cluster.supervisor.stop().await;
        }
    }

    /// The kubeconfig file of the administrator.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Runs kubectl as administrator and returns what it printed.
    pub(crate) async fn kubectl<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> anyhow::Result<String> {
        self.kubectl_with_input(arguments, "").await
    }

    /// Runs kubectl with something on its standard input.
    pub(crate) async fn kubectl_with_input<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
        input: &str,
    ) -> anyhow::Result<String> {
        let mut command = Command::new(supervisor::binary("kubectl"));
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true);
        let mut child = command.spawn().context("kubectl")?;
        let mut pipe = child.stdin.take().expect("asked for above");
        pipe.write_all(input.as_bytes()).await?;
        drop(pipe);
        let output = child.wait_with_output().await?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        anyhow::ensure!(
            output.status.success(),
            "kubectl failed: {}{printed}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(printed)
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
