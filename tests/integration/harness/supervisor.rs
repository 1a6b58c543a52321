//! The process that runs a cluster, `tests/kubernetes/run`, and the line to it.
//!
//! Its standard input is the cluster's lifeline: when this process ends, in whatever way, the pipe
//! closes, and the supervisor kills the cluster and what it was told to adopt.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use anyhow::Context;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout};
use tokio::sync::Mutex;

use super::run_folder;

/// A running cluster's processes.
pub(super) struct Supervisor {
    child: Mutex<Option<Line>>,
}

struct Line {
    child: Child,
    input: ChildStdin,
    output: Lines<BufReader<ChildStdout>>,
}

/// Why there can be no cluster here, if so.
pub(super) fn unavailable() -> Option<&'static str> {
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

/// The path of one of the cluster's binaries.
pub(super) fn binary(name: &str) -> PathBuf {
    std::env::var_os("KUBEBUILDER_ASSETS")
        .map(|assets| Path::new(&assets).join(name))
        .filter(|path| path.exists())
        .unwrap_or_else(|| run_folder::target().join("kubernetes/bin").join(name))
}

fn script(name: &str) -> Command {
    let scripts = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes");
    let mut command = Command::new(scripts.join(name));
    command.env("CARGO_TARGET_DIR", run_folder::target());
    command
}

/// Builds Kubernetes where that has not happened, with progress on standard error.
pub(super) async fn build() -> anyhow::Result<()> {
    let built = tokio::process::Command::from(script("build"))
        .status()
        .await?;
    anyhow::ensure!(built.success(), "tests/kubernetes/build failed");
    Ok(())
}

impl Supervisor {
    /// Starts a cluster in a folder; builds Kubernetes before, with progress on standard error.
    pub(super) async fn start(folder: &Path) -> anyhow::Result<(Self, PathBuf)> {
        build().await?;
        Self::run(script("run"), folder).await
    }

    /// Supervises nothing yet: for processes that are to end with this one.
    pub(super) async fn of_nothing(folder: &Path) -> anyhow::Result<Self> {
        let mut command = script("run");
        command.arg("--nothing");
        Ok(Self::run(command, folder).await?.0)
    }

    /// The supervisor, once it has said what it has started.
    async fn run(mut run: Command, folder: &Path) -> anyhow::Result<(Self, PathBuf)> {
        run.arg(folder).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = tokio::process::Command::from(run)
            // Ctrl-C in a terminal is for us; the cluster goes when we are gone.
            .process_group(0)
            .spawn()
            .context("tests/kubernetes/run")?;
        let input = child.stdin.take().expect("asked for above");
        let output = child.stdout.take().expect("asked for above");
        let mut output = BufReader::new(output).lines();
        let kubeconfig = output
            .next_line()
            .await?
            .context("the cluster did not start")?;
        let child = Mutex::new(Some(Line {
            child,
            input,
            output,
        }));
        Ok((Self { child }, kubeconfig.into()))
    }

    /// Tells the supervisor something, and waits until it is done.
    pub(super) async fn tell(&self, order: &str) -> anyhow::Result<()> {
        let mut line = self.child.lock().await;
        let line = line.as_mut().context("the cluster was stopped")?;
        line.input
            .write_all(format!("{order}\n").as_bytes())
            .await?;
        line.output
            .next_line()
            .await?
            .context("the cluster's supervisor is gone")?;
        Ok(())
    }

    /// Ends the cluster and waits for it to be gone.
    pub(super) async fn stop(&self) {
        if let Some(line) = self.child.lock().await.take() {
            let Line {
                mut child,
                input,
                output,
            } = line;
            drop((input, output));
            let _ = child.wait().await;
        }
    }
}
