//! The embedded API in this process, and the operator as a process beside it, with bounded memory.

use std::fs::{self, File};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, ensure};
use embedded_apiserver::{ApiServer, Listening, Options, User};
use rhai_operator::clock;
use serde_json::Value;
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::process::{Child, Command};
use tokio::task::AbortHandle;

use super::api::Api;
use super::campaign::Operator;
use super::cases::{self, Kind};
use super::wait;

/// The address space of the operator's process, in KiB: stacks of its threads and what its allocator
/// reserves included.
const ADDRESS_SPACE: u64 = 4 << 20;
/// The most resident memory, in KiB. `deploy/manager.yaml` grants half of it to a release build.
const RESIDENT: u64 = 512 << 10;
/// `/healthz` answers within this time, also on a machine that compiles beside it.
const HEALTHY: Duration = Duration::from_secs(20);
/// The token of the operator, who may do everything.
const TOKEN: &str = "operator-token";

/// The running processes.
pub(crate) struct TestProcesses {
    pub(crate) api: Api,
    pub(crate) process: Process,
    _listening: Listening,
    driving: AbortHandle,
    _folder: TempDir,
}

/// The operator as a process.
pub(crate) struct Process {
    child: tokio::sync::Mutex<Child>,
    id: u32,
    log: PathBuf,
}

impl Drop for TestProcesses {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

/// The project: the roles of the tests and those of this repository.
pub(crate) fn project(folder: &Path, kinds: &[&Kind]) -> anyhow::Result<()> {
    let roles = folder.join("roles");
    copy(&cases::roles(), &roles)?;
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("roles"), &roles)?;
    let watches: String = kinds.iter().map(|kind| watch(kind)).collect();
    fs::write(folder.join("watches.yaml"), watches)?;
    Ok(())
}

fn watch(kind: &Kind) -> String {
    let finalizer = match kind.role.as_str() {
        "finalizers" | "myownshell" => ", finalizer: {name: hostile.test/finalizer}",
        "release" => ", finalizer: {name: releases.operator.example.com/finalizer}",
        "experimental" => ", snakeCaseParameters: true",
        _ => "",
    };
    format!(
        "- {{group: {}, version: {}, kind: {}, role: {}, timeout: 5s{finalizer}}}\n",
        kind.group, kind.version, kind.name, kind.role,
    )
}

fn copy(from: &Path, to: &Path) -> anyhow::Result<()> {
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let to = to.join(entry.file_name());
        if entry.file_type()?.is_dir() {
            copy(&entry.path(), &to)?;
        } else {
            fs::copy(entry.path(), to)?;
        }
    }
    Ok(())
}

impl TestProcesses {
    /// A server, to which the kinds and all else may be added before the operator starts.
    pub(crate) async fn set(
        kinds: &[&Kind],
        prepare: impl AsyncFnOnce(&Api) -> anyhow::Result<()>,
    ) -> anyhow::Result<Self> {
        let folder = tempfile::tempdir()?;
        let server = ApiServer::new(Options::default());
        server.add_token(TOKEN, User::admin());
        let listening = server.serve_tls(TcpListener::bind("127.0.0.1:0").await?, None)?;
        let driving = tokio::spawn(server.clone().drive()).abort_handle();
        let client = server.client();
        let api = Api::new(client);
        prepare(&api).await?;
        project(folder.path(), kinds)?;
        write_kubeconfig(folder.path(), &listening)?;
        let process = Process::start(folder.path(), Path::new("kubeconfig")).await?;
        Ok(Self {
            api,
            process,
            _listening: listening,
            driving,
            _folder: folder,
        })
    }
}

fn write_kubeconfig(folder: &Path, listening: &Listening) -> anyhow::Result<()> {
    let authority = folder.join("ca.crt");
    fs::write(
        &authority,
        listening.authority.as_deref().context("no TLS")?,
    )?;
    let text = format!(
        r#"{{apiVersion: v1, kind: Config, current-context: test,
clusters: [{{name: test, cluster: {{server: "https://{}", certificate-authority: "{}"}}}}],
users: [{{name: test, user: {{token: {TOKEN}}}}}],
contexts: [{{name: test, context: {{cluster: test, user: test}}}}]}}
"#,
        listening.address,
        authority.display(),
    );
    Ok(fs::write(folder.join("kubeconfig"), text)?)
}

impl Process {
    /// Starts the operator for the project in a folder, and waits until it is ready.
    pub(crate) async fn start(folder: &Path, kubeconfig: &Path) -> anyhow::Result<Self> {
        let process = Self::spawn(folder, kubeconfig)?;
        wait::until("a ready operator", async || match process.end().await? {
            Some(end) => Ok(Err(end)),
            None => process.ask("/readyz").await.map(Ok),
        })
        .await?
        .map_err(anyhow::Error::msg)?;
        Ok(process)
    }

    fn spawn(folder: &Path, kubeconfig: &Path) -> anyhow::Result<Self> {
        let log = folder.join("operator.log");
        let output = File::create(&log)?;
        let child = Command::new("sh")
            .args([
                "-c",
                "ulimit -v $0 && exec \"$@\"",
                &ADDRESS_SPACE.to_string(),
            ])
            .arg(env!("CARGO_BIN_EXE_rhai-operator"))
            .args(["run", "--max-concurrent-reconciles", "2"])
            .args(["--metrics-bind-address", "127.0.0.1:0"])
            .args(["--health-probe-bind-address", "127.0.0.1:0"])
            .args(["--log-format", "json", "--log-level", "debug"])
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .current_dir(folder)
            .env_clear()
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().context("a process without a number")?;
        Ok(Self {
            child: child.into(),
            id,
            log,
        })
    }

    fn address(&self, server: &str) -> anyhow::Result<SocketAddr> {
        let log = fs::read_to_string(&self.log)?;
        let lines = log
            .lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok());
        let mut lines = lines.filter(|line| line["message"] == "listening");
        let line = lines.find(|line| line["server"] == server);
        let address = line.and_then(|line| line["address"].as_str()?.parse().ok());
        address.with_context(|| format!("it does not serve {server}: {log}"))
    }

    /// Asks its health server; the error is another answer than 200.
    async fn ask(&self, path: &str) -> anyhow::Result<()> {
        let (status, answer) = get(self.address("health")?, path).await?;
        ensure!(status == 200, "{path}: {status} {answer}");
        Ok(())
    }

    /// Returns the exit status and the last log lines if the process has ended.
    async fn end(&self) -> anyhow::Result<Option<String>> {
        let Some(status) = self.child.lock().await.try_wait()? else {
            return Ok(None);
        };
        let log = fs::read_to_string(&self.log)?;
        let lines: Vec<&str> = log.lines().rev().take(20).collect();
        Ok(Some(format!(
            "the operator has ended: {status}\n{}",
            lines.join("\n")
        )))
    }

    /// The most that was resident so far, in KiB.
    pub(crate) fn peak(&self) -> anyhow::Result<u64> {
        let status = fs::read_to_string(format!("/proc/{}/status", self.id))?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
        Ok(number.context("no VmHWM")?.parse()?)
    }
}

impl Operator for &Process {
    async fn is_well(&self) -> anyhow::Result<()> {
        if let Some(end) = self.end().await? {
            anyhow::bail!(end);
        }
        let peak = self.peak()?;
        ensure!(peak <= RESIDENT, "the operator had {} MiB", peak >> 10);
        let begun = clock::now();
        let asked = tokio::time::timeout(HEALTHY, self.ask("/healthz")).await;
        asked.with_context(|| format!("/healthz does not answer for {:?}", begun.elapsed()))?
    }

    async fn texts(&self) -> anyhow::Result<String> {
        let (_, metrics) = get(self.address("metrics")?, "/metrics").await?;
        Ok(format!("{metrics}{}", fs::read_to_string(&self.log)?))
    }
}

/// Status and body of an answer.
async fn get(address: SocketAddr, path: &str) -> anyhow::Result<(u16, String)> {
    let mut connection = TcpStream::connect(address).await?;
    let request = format!("GET {path} HTTP/1.1\r\nHost: operator\r\nConnection: close\r\n\r\n");
    connection.write_all(request.as_bytes()).await?;
    let mut answer = String::new();
    connection.read_to_string(&mut answer).await?;
    let status = answer.split(' ').nth(1).context("no status")?.parse()?;
    Ok((status, answer))
}
