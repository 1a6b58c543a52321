//! kubectl, as the administrator of a cluster runs it.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context;
use tokio::process::Command;
use tokio::sync::OnceCell;

use super::{Cluster, supervisor};

/// Something that a test needs is not on this machine: the test is ignored, but not on CI.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub(crate) struct Missing(pub(crate) String);

/// The binary, built if need be.
async fn binary() -> anyhow::Result<PathBuf> {
    static BUILT: OnceCell<()> = OnceCell::const_new();
    if let Some(reason) = supervisor::unavailable() {
        return Err(Missing(reason.to_owned()).into());
    }
    BUILT.get_or_try_init(supervisor::build).await?;
    Ok(supervisor::binary("kubectl"))
}

impl Cluster {
    /// Runs kubectl as administrator and returns what it printed.
    pub(crate) async fn kubectl<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> anyhow::Result<String> {
        let mut command = Command::new(binary().await?);
        command
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            // Grounds may be served at one address after the other.
            .arg("--cache-dir")
            .arg(self.kubeconfig().with_extension("cache"))
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = command.output().await.context("kubectl")?;
        let printed = String::from_utf8_lossy(&output.stdout).into_owned();
        anyhow::ensure!(
            output.status.success(),
            "kubectl failed: {}{printed}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(printed)
    }
}
