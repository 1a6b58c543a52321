//! kubectl with the administrator's kubeconfig.

use std::ffi::OsStr;
use std::path::PathBuf;
use std::process::Stdio;

use anyhow::Context;
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::{Cluster, supervisor};

/// A tool that the machine lacks. The test is ignored; on CI it fails.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct MissingTool(
    /// The reason, for the report of the trial.
    pub String,
);

/// Returns the path of kubectl, after building it if it does not exist.
async fn binary() -> anyhow::Result<PathBuf> {
    static BUILT: OnceCell<()> = OnceCell::const_new();
    if let Some(reason) = supervisor::unavailable() {
        return Err(MissingTool(reason.to_owned()).into());
    }
    BUILT.get_or_try_init(supervisor::build).await?;
    Ok(supervisor::binary("kubectl"))
}

impl Cluster {
    /// Runs kubectl as administrator and returns its output.
    pub async fn kubectl<A: AsRef<OsStr>>(
        &self,
        arguments: impl IntoIterator<Item = A>,
    ) -> anyhow::Result<String> {
        let mut command = Command::new(binary().await?);
        command
            .arg("--kubeconfig")
            .arg(self.kubeconfig())
            // Several clusters can have the same address one after the other.
            .arg("--cache-dir")
            .arg(self.kubeconfig().with_extension("cache"))
            .args(arguments)
            .stdin(Stdio::null())
            .kill_on_drop(true);
        let output = command.output().await.context("kubectl")?;
        let output_text = String::from_utf8_lossy(&output.stdout).into_owned();
        anyhow::ensure!(
            output.status.success(),
            "kubectl failed: {}{output_text}",
            String::from_utf8_lossy(&output.stderr)
        );
        Ok(output_text)
    }
}
