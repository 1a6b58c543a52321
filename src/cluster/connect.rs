//! From a kubeconfig, or from inside a cluster, to a [`Cluster`].

use std::path::PathBuf;
use std::sync::Arc;

use super::layer::Observer;
use super::{Cluster, Settings};

/// Where the cluster is.
#[derive(Clone, Default)]
pub struct Options {
    /// Kubeconfig file; without it `KUBECONFIG`, `~/.kube/config`, then the pod's service account.
    pub kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, its current one by default.
    pub context: Option<String>,
    /// Told of every answer, for metrics.
    pub observer: Option<Arc<dyn Observer>>,
    /// Timeouts and bounds.
    pub settings: Settings,
}

/// Why there is no cluster to talk to.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kubeconfig cannot be read or names a context that it lacks.
    #[error("cannot use the kubeconfig")]
    Kubeconfig(#[source] kube::config::KubeconfigError),
    /// Neither a kubeconfig nor a pod's service account.
    #[error("no kubeconfig, and not inside a cluster")]
    Nowhere(#[source] kube::config::InClusterError),
    /// Certificates or credentials cannot be used.
    #[error("cannot build a client from the configuration")]
    Client(#[source] kube::Error),
}

/// What a connection was made to.
#[derive(Clone)]
pub struct Connection {
    /// The cluster.
    pub cluster: Cluster,
    /// A plain kube client for what is not JSON requests (exec, logs).
    pub client: kube::Client,
    /// Namespace of the context, or of the pod.
    pub namespace: String,
    /// Whether the configuration came from inside a cluster.
    pub in_cluster: bool,
}

/// Connects; nothing is sent yet.
pub async fn connect(options: Options) -> Result<Connection, Error> {
    let _ = options;
    todo!()
}
