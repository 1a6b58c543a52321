//! The process that runs a cluster: `tests/kubernetes/run`.
//!
//! Its standard input is a pipe from this process. When this process ends, even by a signal, the pipe
//! closes, and the supervisor kills the cluster and the adopted processes.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use crate::run_folder;

/// The supervisor of a running cluster.
pub struct Supervisor {
    process: Mutex<Option<Process>>,
}

struct Process {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

/// Returns the reason if this machine cannot run a real cluster.
pub fn unavailable() -> Option<&'static str> {
    static REASON: OnceLock<Option<String>> = OnceLock::new();
    REASON
        .get_or_init(|| match script("build").arg("--check").output() {
            Ok(check) if check.status.success() => None,
            Ok(check) => Some(format!(
                "no Kubernetes to test on: {}",
                String::from_utf8_lossy(&check.stdout).trim()
            )),
            Err(error) => Some(format!("no Kubernetes to test on: {error}")),
        })
        .as_deref()
}

/// Returns the path of a binary of Kubernetes.
pub fn binary(name: &str) -> PathBuf {
    std::env::var_os("KUBEBUILDER_ASSETS")
        .map(|assets| Path::new(&assets).join(name))
        .filter(|path| path.exists())
        .unwrap_or_else(|| run_folder::target().join("kubernetes/bin").join(name))
}

fn script(name: &str) -> Command {
    let mut command = Command::new(run_folder::repository("tests/kubernetes").join(name));
    command.env("CARGO_TARGET_DIR", run_folder::target());
    command
}

/// Builds Kubernetes if its binaries do not exist, with progress on standard error.
pub async fn build() -> anyhow::Result<()> {
    let built = tokio::process::Command::from(script("build"))
        .status()
        .await?;
    anyhow::ensure!(built.success(), "tests/kubernetes/build failed");
    Ok(())
}

impl Supervisor {
    /// Starts a cluster with its files in a folder, and returns the administrator's kubeconfig.
    pub async fn start(folder: &Path) -> anyhow::Result<(Self, PathBuf)> {
        build().await?;
        Self::run(script("run"), folder).await
    }

    /// Starts a supervisor without a cluster, for processes that must end with this one.
    pub async fn without_cluster(folder: &Path) -> anyhow::Result<Self> {
        let mut command = script("run");
        command.arg("--nothing");
        Ok(Self::run(command, folder).await?.0)
    }

    /// Starts the supervisor and waits for the path of its kubeconfig.
    async fn run(mut run: Command, folder: &Path) -> anyhow::Result<(Self, PathBuf)> {
        run.arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = tokio::process::Command::from(run)
            // Ctrl-C in a terminal must end this process only. The supervisor ends the cluster then.
            .process_group(0)
            .spawn()
            .context("tests/kubernetes/run")?;
        let input = child.stdin.take().expect("a piped stream");
        let output = child.stdout.take().expect("a piped stream");
        let mut output = BufReader::new(output).lines();
        let kubeconfig = output
            .next_line()
            .await?
            .context("the cluster did not start")?;
        let process = Mutex::new(Some(Process {
            child,
            input,
            output,
        }));
        Ok((Self { process }, kubeconfig.into()))
    }

    /// Sends a command to the supervisor and waits until it is done.
    pub async fn send(&self, command: &str) -> anyhow::Result<()> {
        let mut process = self.process.lock().await;
        let process = process.as_mut().context("the cluster was stopped")?;
        process
            .input
            .write_all(format!("{command}\n").as_bytes())
            .await?;
        process
            .output
            .next_line()
            .await?
            .context("the cluster's supervisor is gone")?;
        Ok(())
    }

    /// Ends the cluster and waits for the end of its processes.
    pub async fn stop(&self) {
        if let Some(process) = self.process.lock().await.take() {
            let Process {
                mut child,
                input,
                output,
            } = process;
            drop((input, output));
            let _ = child.wait().await;
        }
    }
}
