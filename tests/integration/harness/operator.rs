//! The operator under test: the real binary as a process, with a user of its own.

use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::process::{Child, Command};

use super::user::{self, User};
use super::wait::{SOON, eventually};
use super::{Case, Cluster, Project, Proxy};

/// How an operator is to be started.
pub(crate) struct Start<'a> {
    case: &'a Case,
    project: &'a Project,
    user: Option<User>,
    proxy: Option<&'a Proxy>,
    program: PathBuf,
    files: Option<usize>,
    flags: Vec<OsString>,
    environment: Vec<(String, String)>,
}

/// Says to this program that it is an operator.
const AS_OPERATOR: &str = "RHAI_OPERATOR_TESTS_AS_OPERATOR";

/// Returns whether this process was started to be an operator, not to run tests.
pub(crate) fn acts_as_operator() -> bool {
    std::env::var_os(AS_OPERATOR).is_some()
}

/// A running `rhai-operator run`. It is killed when this is dropped.
pub(crate) struct Operator {
    /// Who it is; by default somebody who may do everything.
    pub(crate) user: User,
    child: Child,
    id: u32,
    log: PathBuf,
    cluster: Arc<Cluster>,
}

impl Operator {
    /// An operator for a project; say more with the methods of [`Start`].
    pub(crate) fn of<'a>(case: &'a Case, project: &'a Project) -> Start<'a> {
        Start {
            case,
            project,
            user: None,
            proxy: None,
            program: env!("CARGO_BIN_EXE_rhai-operator").into(),
            files: None,
            flags: Vec::new(),
            environment: Vec::new(),
        }
    }
}

impl<'a> Start<'a> {
    /// Acts as this user.
    pub(crate) fn user(mut self, user: &User) -> Self {
        self.user = Some(user.clone());
        self
    }

    /// Reaches the API server through a proxy.
    pub(crate) fn through(mut self, proxy: &'a Proxy) -> Self {
        self.proxy = Some(proxy);
        self
    }

    /// Is this very program in another part ([`acts_as_operator`]): the operator with functions that
    /// only tests have.
    pub(crate) fn with_functions_of_tests(mut self) -> anyhow::Result<Self> {
        self.program = std::env::current_exe()?;
        Ok(self.variable(AS_OPERATOR, "true"))
    }

    /// Has so many files open at most.
    pub(crate) fn files(mut self, limit: usize) -> Self {
        self.files = Some(limit);
        self
    }

    /// Further arguments of `run`.
    pub(crate) fn flags<S: Into<OsString>>(mut self, flags: impl IntoIterator<Item = S>) -> Self {
        self.flags.extend(flags.into_iter().map(Into::into));
        self
    }

    /// An environment variable.
    pub(crate) fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts it, and waits until it serves its health address.
    pub(crate) async fn start(self) -> anyhow::Result<Operator> {
        let mut operator = self.spawn().await?;
        let what = "the operator to serve its health address";
        let id = operator.id;
        eventually(SOON, what, || {
            let seen = operator.health_address();
            async move { seen.with_context(|| format!("process {id}")) }
        })
        .await?;
        anyhow::ensure!(operator.child.try_wait()?.is_none(), "the operator ended");
        Ok(operator)
    }

    /// Starts it and waits for nothing: for operators that are not to come up.
    pub(crate) async fn spawn(self) -> anyhow::Result<Operator> {
        let Self {
            case,
            project,
            user,
            proxy,
            program,
            files,
            flags,
            environment,
        } = self;
        let user = match user {
            Some(user) => user,
            None => administrator(case).await?,
        };
        let kubeconfig = match proxy {
            Some(proxy) => user::redirect(user.kubeconfig(), &proxy.server())?,
            None => user.kubeconfig().to_owned(),
        };
        let log = case.path(&format!("{}.log", case.unique("operator")));
        let output = File::create(&log)?;
        let child = command(program, files)
            .arg("run")
            .arg("--watches-file")
            .arg(project.watches_file())
            .arg("--roles-dir")
            .arg(project.roles_dir())
            .arg("--kubeconfig")
            .arg(kubeconfig)
            .args(["--metrics-bind-address", "127.0.0.1:0"])
            .args(["--health-probe-bind-address", "127.0.0.1:0"])
            .args(["--log-format", "json"])
            .args(flags)
            .env_clear()
            .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "RUST_LOG"))
            // Runs without effect are told at this level only, and tests count them.
            .env(
                "RHAI_OPERATOR_LOG_LEVEL",
                "info,rhai_operator::reconcile=debug",
            )
            .envs(environment)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?)
            .stderr(output)
            .kill_on_drop(true)
            .spawn()?;
        let id = child.id().context("a process without a number")?;
        case.cluster.adopt(id).await?;
        Ok(Operator {
            user,
            child,
            id,
            log,
            cluster: case.cluster.clone(),
        })
    }
}

/// Runs a program with so many open files at most.
fn command(program: PathBuf, files: Option<usize>) -> Command {
    let Some(limit) = files else {
        return Command::new(program);
    };
    let mut shell = Command::new("sh");
    shell
        .arg("-c")
        .arg(format!(r#"ulimit -n {limit} && exec "$0" "$@""#))
        .arg(program);
    shell
}

/// A new user who may do everything: each operator's requests can be told apart.
async fn administrator(case: &Case) -> anyhow::Result<User> {
    let user = case.user(&case.unique("operator")).await?;
    user.bind("cluster-admin").await?;
    Ok(user)
}

impl Operator {
    /// All that it logged so far.
    pub(crate) fn log(&self) -> anyhow::Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }

    /// The address where it serves health.
    pub(crate) fn health_address(&self) -> anyhow::Result<SocketAddr> {
        self.address("health")
    }

    /// The address where it serves metrics.
    pub(crate) fn metrics_address(&self) -> anyhow::Result<SocketAddr> {
        self.address("metrics")
    }

    /// The port is left to the system; the log says which one it is.
    fn address(&self, server: &str) -> anyhow::Result<SocketAddr> {
        let log = self.log()?;
        log.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(|line| line["message"] == "listening" && line["server"] == server)
            .and_then(|line| line["address"].as_str()?.parse().ok())
            .with_context(|| format!("the log does not say where it serves {server}:\n{log}"))
    }

    /// Asks it over HTTP; returns status and body.
    pub(crate) async fn get(
        &self,
        address: SocketAddr,
        path: &str,
    ) -> anyhow::Result<(u16, String)> {
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let answer = client
            .get(format!("http://{address}{path}").parse()?)
            .await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// What `/healthz` says: 200 from a process that is alive.
    pub(crate) async fn health(&self) -> anyhow::Result<(u16, String)> {
        self.get(self.health_address()?, "/healthz").await
    }

    /// Returns whether the process that was started is still there.
    pub(crate) fn is_running(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// What `/metrics` says.
    pub(crate) async fn metrics(&self) -> anyhow::Result<String> {
        Ok(self.get(self.metrics_address()?, "/metrics").await?.1)
    }

    /// What `/readyz?verbose` says, and whether it is ready.
    pub(crate) async fn readiness(&self) -> anyhow::Result<(u16, String)> {
        self.get(self.health_address()?, "/readyz?verbose").await
    }

    /// Waits until it says that it is ready.
    pub(crate) async fn ready(&self) -> anyhow::Result<()> {
        eventually(SOON, "a ready operator", || async {
            let (status, body) = self.readiness().await?;
            anyhow::ensure!(status == 200, "{status} {body}");
            Ok(())
        })
        .await
    }

    /// Sends a signal by its name: `TERM`, `STOP`, `CONT`.
    pub(crate) async fn signal(&self, name: &str) -> anyhow::Result<()> {
        let sent = Command::new("kill")
            .args([format!("-{name}"), self.id.to_string()])
            .status()
            .await?;
        anyhow::ensure!(sent.success(), "kill -{name} failed");
        Ok(())
    }

    /// Asks it to end (SIGTERM) and waits for that.
    pub(crate) async fn terminate(&mut self) -> anyhow::Result<ExitStatus> {
        self.signal("TERM").await?;
        self.exited().await
    }

    /// Ends it on the spot (SIGKILL).
    pub(crate) async fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().await?;
        self.cluster.release(self.id).await
    }

    /// Waits until it ends by itself.
    pub(crate) async fn exited(&mut self) -> anyhow::Result<ExitStatus> {
        let status = tokio::time::timeout(Duration::from_mins(1), self.child.wait())
            .await
            .context("the operator did not end within a minute")??;
        self.cluster.release(self.id).await?;
        Ok(status)
    }
}
