//! The servers that are compared.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use http::{Request, Response};
use kube::client::{Body, Client};
use kube::config::{AuthInfo, Config, KubeConfigOptions, Kubeconfig};
use serde_json::Value;
use tokio::sync::OnceCell;

use crate::fixtures;
use crate::run_folder;
use crate::supervisor::Supervisor;

static REAL: OnceCell<Ground> = OnceCell::const_new();

/// A server, as its administrator reaches it.
pub(crate) struct Ground {
    client: Client,
    token: String,
    /// Keeps the real cluster running.
    supervisor: Option<Supervisor>,
}

impl Ground {
    /// The real one; the first caller starts it.
    pub(crate) async fn real() -> anyhow::Result<&'static Self> {
        REAL.get_or_try_init(async || {
            let given = std::env::var_os("CONFORMANCE_KUBECONFIG");
            let (supervisor, kubeconfig) = if let Some(kubeconfig) = given {
                (None, PathBuf::from(kubeconfig))
            } else {
                let folder = run_folder::make("conformance")?;
                let (supervisor, kubeconfig) = Supervisor::start(&folder).await?;
                (Some(supervisor), kubeconfig)
            };
            let ground = Self::of_kubeconfig(&kubeconfig, supervisor).await?;
            fixtures::install(&ground).await?;
            Ok(ground)
        })
        .await
    }

    /// The embedded one.
    #[expect(clippy::unused_async, reason = "as the real one")]
    pub(crate) async fn embedded() -> anyhow::Result<&'static Self> {
        anyhow::bail!("there is no embedded server yet")
    }

    async fn of_kubeconfig(
        kubeconfig: &Path,
        supervisor: Option<Supervisor>,
    ) -> anyhow::Result<Self> {
        let text = std::fs::read_to_string(kubeconfig)?;
        let file: Value = serde_yaml::from_str(&text)?;
        let token = file.pointer("/users/0/user/token").and_then(Value::as_str);
        let token = token.context("a kubeconfig with a token")?.to_owned();
        let options = KubeConfigOptions::default();
        let kubeconfig = Kubeconfig::from_yaml(&text)?;
        let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
        // Each request brings its own credentials, and an answer is to be seen as it came.
        config.auth_info = AuthInfo::default();
        config.default_retry = false;
        Ok(Self {
            client: Client::try_from(config)?,
            token,
            supervisor,
        })
    }

    /// Sends one request.
    pub(crate) async fn send(&self, request: Request<Body>) -> kube::Result<Response<Body>> {
        self.client.send(request).await
    }

    /// The administrator's bearer token.
    pub(crate) fn token(&self) -> &str {
        &self.token
    }
}

/// Ends the real cluster, if this run started one.
pub(crate) async fn stop() {
    if let Some(supervisor) = REAL.get().and_then(|real| real.supervisor.as_ref()) {
        supervisor.stop().await;
    }
}

/// A name that no other sequence has: all are of one length, so that nothing else differs by it.
pub(crate) fn unused_name() -> String {
    static NEXT: AtomicUsize = AtomicUsize::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed) % 10_000;
    let process = std::process::id() % 100_000;
    format!("conf-{process:05}-{number:04}")
}
