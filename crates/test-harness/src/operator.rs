//! The operator under test: the real binary as a process with its own user.

use std::ffi::OsString;
use std::fs::File;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::{ExitStatus, Stdio};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use anyhow::Context;
use bytes::Bytes;
use http_body_util::{BodyExt, Full};
use hyper_util::client::legacy::Client;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::process::{Child, Command};

use crate::user::{self, User};
use crate::wait::{SOON, eventually};
use crate::{Case, Cluster, Project, Proxy};

/// The options of an operator process.
pub struct OperatorBuilder<'a> {
    case: &'a Case,
    project: &'a Project,
    user: Option<User>,
    proxy: Option<&'a Proxy>,
    program: PathBuf,
    files: Option<usize>,
    flags: Vec<OsString>,
    environment: Vec<(String, String)>,
}

/// The environment variable that makes this test program act as an operator.
const AS_OPERATOR: &str = "RHAI_OPERATOR_TESTS_AS_OPERATOR";

/// The program of all operators of this test binary.
static PROGRAM: OnceLock<&'static str> = OnceLock::new();

/// Sets the program of all operators of this test binary.
pub(crate) fn set_program(program: &'static str) {
    PROGRAM.get_or_init(|| program);
}

/// Returns whether a test started this process as an operator.
pub fn is_operator_process() -> bool {
    std::env::var_os(AS_OPERATOR).is_some()
}

/// A running `rhai-operator run`. Dropping it kills the process.
pub struct Operator {
    /// The user of the process, by default a cluster administrator.
    pub user: User,
    child: Child,
    id: u32,
    log: PathBuf,
    cluster: Arc<Cluster>,
}

impl Operator {
    /// Returns the options of an operator for a project.
    ///
    /// # Panics
    ///
    /// Outside a [`Suite`](crate::Suite), which knows the program.
    pub fn builder<'a>(case: &'a Case, project: &'a Project) -> OperatorBuilder<'a> {
        OperatorBuilder {
            case,
            project,
            user: None,
            proxy: None,
            program: PROGRAM.get().expect("a program of the suite").into(),
            files: None,
            flags: Vec::new(),
            environment: Vec::new(),
        }
    }
}

impl<'a> OperatorBuilder<'a> {
    /// Sets the user.
    pub fn user(mut self, user: &User) -> Self {
        self.user = Some(user.clone());
        self
    }

    /// Connects to the API server through a proxy.
    pub fn through(mut self, proxy: &'a Proxy) -> Self {
        self.proxy = Some(proxy);
        self
    }

    /// Starts this test program as the operator ([`is_operator_process`]), with host functions that only
    /// tests have.
    pub fn with_functions_of_tests(mut self) -> anyhow::Result<Self> {
        self.program = std::env::current_exe()?;
        Ok(self.variable(AS_OPERATOR, "true"))
    }

    /// Limits the number of open files.
    pub fn files(mut self, limit: usize) -> Self {
        self.files = Some(limit);
        self
    }

    /// Adds arguments of `run`.
    pub fn flags<S: Into<OsString>>(mut self, flags: impl IntoIterator<Item = S>) -> Self {
        self.flags.extend(flags.into_iter().map(Into::into));
        self
    }

    /// Sets an environment variable.
    pub fn variable(mut self, name: &str, value: &str) -> Self {
        self.environment.push((name.to_owned(), value.to_owned()));
        self
    }

    /// Starts the process and waits until it serves its health address.
    pub async fn start(self) -> anyhow::Result<Operator> {
        let mut operator = self.spawn().await?;
        let what = "the operator to serve its health address";
        let id = operator.id;
        eventually(SOON, what, || {
            let address = operator.health_address();
            async move { address.with_context(|| format!("process {id}")) }
        })
        .await?;
        anyhow::ensure!(operator.child.try_wait()?.is_none(), "the operator ended");
        Ok(operator)
    }

    /// Starts the process without waiting, for operators that must not become ready.
    pub async fn spawn(self) -> anyhow::Result<Operator> {
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
            // Runs without an effect are logged only at this level, and tests count them.
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
        let id = child.id().context("a process without an id")?;
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

/// Returns a command that runs a program with a limit of open files.
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

/// Creates a cluster administrator. Each operator has its own, so that the audit log distinguishes them.
async fn administrator(case: &Case) -> anyhow::Result<User> {
    let user = case.user(&case.unique("operator")).await?;
    user.bind("cluster-admin").await?;
    Ok(user)
}

impl Operator {
    /// Returns the log.
    pub fn log(&self) -> anyhow::Result<String> {
        Ok(std::fs::read_to_string(&self.log)?)
    }

    /// Returns the address of the health server.
    pub fn health_address(&self) -> anyhow::Result<SocketAddr> {
        self.address("health")
    }

    /// Returns the address of the metrics server.
    pub fn metrics_address(&self) -> anyhow::Result<SocketAddr> {
        self.address("metrics")
    }

    /// Returns the address that the log shows: the system selects the port.
    fn address(&self, server: &str) -> anyhow::Result<SocketAddr> {
        let log = self.log()?;
        log.lines()
            .filter_map(|line| serde_json::from_str::<Value>(line).ok())
            .find(|line| line["message"] == "listening" && line["server"] == server)
            .and_then(|line| line["address"].as_str()?.parse().ok())
            .with_context(|| format!("the log does not say where it serves {server}:\n{log}"))
    }

    /// Sends a GET request, and returns the status and the body.
    pub async fn get(&self, address: SocketAddr, path: &str) -> anyhow::Result<(u16, String)> {
        let client = Client::builder(TokioExecutor::new()).build_http::<Full<Bytes>>();
        let answer = client
            .get(format!("http://{address}{path}").parse()?)
            .await?;
        let status = answer.status().as_u16();
        let body = answer.into_body().collect().await?.to_bytes();
        Ok((status, String::from_utf8_lossy(&body).into_owned()))
    }

    /// Requests `/healthz`.
    pub async fn health(&self) -> anyhow::Result<(u16, String)> {
        self.get(self.health_address()?, "/healthz").await
    }

    /// Returns whether the process has not ended.
    pub fn is_running(&mut self) -> anyhow::Result<bool> {
        Ok(self.child.try_wait()?.is_none())
    }

    /// Requests `/metrics`, and returns the body.
    pub async fn metrics(&self) -> anyhow::Result<String> {
        Ok(self.get(self.metrics_address()?, "/metrics").await?.1)
    }

    /// Requests `/readyz?verbose`.
    pub async fn readiness(&self) -> anyhow::Result<(u16, String)> {
        self.get(self.health_address()?, "/readyz?verbose").await
    }

    /// Waits until the operator is ready.
    pub async fn ready(&self) -> anyhow::Result<()> {
        eventually(SOON, "a ready operator", || async {
            let (status, body) = self.readiness().await?;
            anyhow::ensure!(status == 200, "{status} {body}");
            Ok(())
        })
        .await
    }

    /// Sends a signal: `TERM`, `STOP`, `CONT`.
    pub async fn signal(&self, name: &str) -> anyhow::Result<()> {
        let status = Command::new("kill")
            .args([format!("-{name}"), self.id.to_string()])
            .status()
            .await?;
        anyhow::ensure!(status.success(), "kill -{name} failed");
        Ok(())
    }

    /// Sends SIGTERM and waits for the end of the process.
    pub async fn terminate(&mut self) -> anyhow::Result<ExitStatus> {
        self.signal("TERM").await?;
        self.exited().await
    }

    /// Sends SIGKILL and waits for the end of the process.
    pub async fn kill(&mut self) -> anyhow::Result<()> {
        self.child.kill().await?;
        self.cluster.release(self.id).await
    }

    /// Waits for the end of the process.
    pub async fn exited(&mut self) -> anyhow::Result<ExitStatus> {
        let status = tokio::time::timeout(Duration::from_mins(1), self.child.wait())
            .await
            .context("the operator did not end within a minute")??;
        self.cluster.release(self.id).await?;
        Ok(status)
    }
}
