//! Flags that name the cluster.

use std::path::PathBuf;

use clap::Args;

use crate::cluster::connect::Source;

/// Which cluster to talk to.
#[derive(Clone, Debug, Args)]
pub(super) struct Connection {
    /// Kubeconfig file; without it `KUBECONFIG`, the cluster that this process runs in, or ~/.kube/config.
    #[arg(long, value_name = "FILE", env = "RHAI_OPERATOR_KUBECONFIG")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig; without it the current one.
    #[arg(long, value_name = "NAME", env = "RHAI_OPERATOR_CONTEXT")]
    pub(super) context: Option<String>,
}

impl Connection {
    /// Where the flags say that the cluster is.
    pub(super) fn source(&self) -> Source {
        Source::Configured {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        }
    }
}
