//! The two servers of a comparison.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use ::http::{Request, Response};
use anyhow::Context;
use embedded_apiserver::{ApiServer, Listening, Options, User};
use kube::client::{Body, Client};
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::OnceCell;

use crate::fixtures;
use test_harness::run_folder;
use test_harness::supervisor::Supervisor;

static REAL: OnceCell<Server> = OnceCell::const_new();
static EMBEDDED: OnceCell<Server> = OnceCell::const_new();

/// The administrator's token of the embedded API.
const TOKEN: &str = "admin-token";

/// A server and the credentials of its administrator.
pub(crate) struct Server {
    client: Client,
    token: String,
    kubeconfig: PathBuf,
    runs: Runs,
}

/// The owner of the server's processes.
enum Runs {
    /// Another process: `CONFORMANCE_KUBECONFIG` names the cluster.
    Elsewhere,
    Cluster(Box<Supervisor>),
    Here {
        _listening: [Listening; 2],
    },
}

impl Server {
    /// Returns the real server. The first call starts it.
    pub(crate) async fn real() -> anyhow::Result<&'static Self> {
        REAL.get_or_try_init(async || {
            let given = std::env::var_os("CONFORMANCE_KUBECONFIG");
            let (runs, kubeconfig) = if let Some(kubeconfig) = given {
                (Runs::Elsewhere, PathBuf::from(kubeconfig))
            } else {
                let folder = run_folder::create("conformance")?;
                let (supervisor, kubeconfig) = Supervisor::start(&folder).await?;
                (Runs::Cluster(Box::new(supervisor)), kubeconfig)
            };
            let server = Self::of_kubeconfig(&kubeconfig, runs).await?;
            fixtures::install(&server).await?;
            Ok(server)
        })
        .await
    }

    /// Returns the embedded server, which clients reach over HTTP. The first call starts it.
    pub(crate) async fn embedded() -> anyhow::Result<&'static Self> {
        EMBEDDED
            .get_or_try_init(async || {
                let server = ApiServer::new(Options::default());
                server.add_token(TOKEN, User::admin());
                let listening = server.serve(TcpListener::bind("127.0.0.1:0").await?)?;
                let mut config = Config::new(format!("http://{}", listening.address).parse()?);
                config.default_retry = false;
                // kubectl sends no credentials without TLS, so it gets a listener that needs none.
                let trusting = TcpListener::bind("127.0.0.1:0").await?;
                let trusting = server.serve_as(User::admin(), trusting)?;
                tokio::spawn(server.drive());
                let server = Self {
                    client: Client::try_from(config)?,
                    token: TOKEN.to_owned(),
                    kubeconfig: write_kubeconfig(&format!("http://{}", trusting.address))?,
                    runs: Runs::Here {
                        _listening: [listening, trusting],
                    },
                };
                // Without the fixtures, many but not all responses differ. The summary shows the differences.
                if let Err(error) = fixtures::install(&server).await {
                    println!("the embedded API does not take the fixtures: {error:#}");
                }
                Ok(server)
            })
            .await
    }

    async fn of_kubeconfig(kubeconfig: &Path, runs: Runs) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(kubeconfig)?;
        let file: Value = serde_yaml::from_str(&text)?;
        let token = file.pointer("/users/0/user/token").and_then(Value::as_str);
        let token = token.context("a kubeconfig with a token")?.to_owned();
        let options = KubeConfigOptions::default();
        let parsed = Kubeconfig::from_yaml(&text)?;
        let mut config = Config::from_custom_kubeconfig(parsed, &options).await?;
        // Each request has its own credentials, and the client must not repeat a request.
        config.auth_info = AuthInfo::default();
        config.default_retry = false;
        Ok(Self {
            client: Client::try_from(config)?,
            token,
            kubeconfig: kubeconfig.to_owned(),
            runs,
        })
    }

    /// Sends one request.
    pub(crate) async fn send(&self, request: Request<Body>) -> kube::Result<Response<Body>> {
        self.client.send(request).await
    }

    /// Returns the path of the administrator's kubeconfig file.
    pub(crate) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Returns the administrator's bearer token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }
}

fn write_kubeconfig(server: &str) -> anyhow::Result<PathBuf> {
    let file = run_folder::create("embedded")?.join("admin.kubeconfig");
    let kubeconfig = json!({
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "test", "cluster": {"server": server}}],
        "users": [{"name": "admin", "user": {"token": TOKEN}}],
        "contexts": [{"name": "test", "context": {"cluster": "test", "user": "admin"}}],
    });
    std::fs::write(&file, serde_json::to_string(&kubeconfig)?)?;
    Ok(file)
}

/// Ends the real cluster, if this run started one.
pub(crate) async fn stop() {
    if let Some(Runs::Cluster(supervisor)) = REAL.get().map(|real| &real.runs) {
        supervisor.stop().await;
    }
}

/// Returns a name that no other sequence has. All names have the same length, so that the length causes no
/// differences.
pub(crate) fn unused_name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % 10_000;
    let process = std::process::id() % 100_000;
    format!("conf-{process:05}-{number:04}")
}
