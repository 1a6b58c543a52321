//! The embedded API as a cluster: over TLS on loopback, with the files that a real cluster has.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use embedded_apiserver::simulation::{Control, Target};
use embedded_apiserver::{ApiServer, AuditLog, Listening, Options, Trust, User};
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio::task::AbortHandle;

use crate::run_folder;

/// The time that Pods take to become ready. Roles must wait for them, as on a real cluster.
const START: Duration = Duration::from_secs(1);

/// A running server. It ends when this is dropped.
pub(crate) struct Embedded {
    _listening: Listening,
    driving: AbortHandle,
}

impl Drop for Embedded {
    fn drop(&mut self) {
        self.driving.abort();
    }
}

/// Starts a server with its files in a folder, and returns the administrator's kubeconfig.
pub(crate) async fn start(folder: &Path) -> anyhow::Result<(Embedded, PathBuf)> {
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
    // The lines are those of `tests/kubernetes/run`, because tests rewrite them for other users.
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

/// Creates the authority that signs users' certificates, and returns its certificate.
async fn authority(folder: &Path) -> anyhow::Result<Vec<u8>> {
    let script = run_folder::repository("tests/kubernetes/client-ca");
    let status = Command::new(script).arg(folder).status().await?;
    anyhow::ensure!(status.success(), "tests/kubernetes/client-ca failed");
    Ok(std::fs::read(folder.join("client-ca.crt"))?)
}
