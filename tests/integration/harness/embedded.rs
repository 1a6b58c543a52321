//! The embedded API as a cluster: over TLS on loopback, its files where the real one has them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use embedded_apiserver::simulation::{Control, Target};
use embedded_apiserver::{ApiServer, AuditLog, Listening, Options, Trust, User};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::AbortHandle;

/// How long Pods take to become ready, so that there is something to wait for, as there is on a real
/// cluster.
const START: Duration = Duration::from_secs(1);

/// A running server; it ends when this is dropped.
pub(super) struct Embedded {
    _listening: Listening,
    driving: AbortHandle,
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

/// Starts a server in a folder; gives the administrator's kubeconfig.
pub(super) async fn start(folder: &Path) -> anyhow::Result<(Embedded, PathBuf)> {
    let clients = authority(folder).await?;
    let simulation = Control::new();
    simulation.delay(Target::default(), START);
    let server = ApiServer::new(Options {
        simulation,
        audit: Some(AuditLog::new(File::create(folder.join("audit.log"))?)),
        ..Options::default()
    });
    server.add_token("admin-token", User::admin());
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let listening = server.serve_tls(listener, Some(Trust::in_authorities(&clients)?))?;
    let driving = tokio::spawn(server.drive()).abort_handle();
    let authority = folder.join("apiserver.crt");
    std::fs::write(
        &authority,
        listening.authority.as_deref().context("no TLS")?,
    )?;
    // In the lines that `tests/kubernetes/run` writes: other kubeconfigs are made of them.
    let kubeconfig = folder.join("admin.kubeconfig");
    let text = format!(
        r#"apiVersion: v1
kind: Config
current-context: test
clusters: [{{name: test, cluster: {{server: "https://{}", certificate-authority: "{}"}}}}]
users: [{{name: admin, user: {{token: admin-token}}}}]
contexts: [{{name: test, context: {{cluster: test, user: admin}}}}]
"#,
        listening.address,
        authority.display(),
    );
    std::fs::write(&kubeconfig, text)?;
    let embedded = Embedded {
        _listening: listening,
        driving,
    };
    Ok((embedded, kubeconfig))
}

/// Makes the authority that signs users' certificates; gives its own.
async fn authority(folder: &Path) -> anyhow::Result<Vec<u8>> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/kubernetes/client-ca");
    let made = Command::new(script).arg(folder).status().await?;
    anyhow::ensure!(made.success(), "tests/kubernetes/client-ca failed");
    Ok(std::fs::read(folder.join("client-ca.crt"))?)
}
