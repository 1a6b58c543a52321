//! Flags that name the cluster.

use std::path::PathBuf;

use clap::Args;

use crate::cluster::connect::Source;

/// The cluster that a command uses.
#[derive(Clone, Debug, Args)]
pub(super) struct Connection {
    /// Kubeconfig file. Default: the file of KUBECONFIG, the cluster that this process runs in, or
    /// ~/.kube/config.
    #[arg(long, value_name = "FILE", env = "RHAI_OPERATOR_KUBECONFIG")]
    pub(super) kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig. Default: its current context.
    #[arg(long, value_name = "NAME", env = "RHAI_OPERATOR_CONTEXT")]
    pub(super) context: Option<String>,
}

impl Connection {
    /// Returns the source of the connection that the flags name.
    pub(super) fn source(&self) -> Source {
        Source::Configured {
            kubeconfig: self.kubeconfig.clone(),
            context: self.context.clone(),
        }
    }
}
