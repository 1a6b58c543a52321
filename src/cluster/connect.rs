//! Connects to a [`Cluster`]: from a kubeconfig, from inside a Pod, or with a client.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use http::HeaderValue;
use http::header::USER_AGENT;
use kube::Config;
use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};
use tower::Layer;

use super::layer::{MeasureLayer, RequestObserver};
use super::transport::{self, Transport};
use super::{Cluster, Settings, certificate_reload};
use crate::regular_file;

/// The time within which a server must accept a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
const USER_AGENT_VALUE: &str = concat!("rhai-operator/", env!("CARGO_PKG_VERSION"));

/// The location of the cluster.
#[derive(Clone)]
pub enum Source {
    /// The cluster of a kubeconfig or of this Pod.
    Configured {
        /// Kubeconfig file; without it `KUBECONFIG`, the pod's service account, then `~/.kube/config`.
        kubeconfig: Option<PathBuf>,
        /// Context of the kubeconfig. Default: its current context.
        context: Option<String>,
    },
    /// The cluster of an existing client, such as that of a server in this process.
    Client(kube::Client),
}

impl Default for Source {
    fn default() -> Self {
        Self::Configured {
            kubeconfig: None,
            context: None,
        }
    }
}

impl fmt::Debug for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Configured {
                kubeconfig,
                context,
            } => f
                .debug_struct("Configured")
                .field("kubeconfig", kubeconfig)
                .field("context", context)
                .finish(),
            Self::Client(_) => f.write_str("Client"),
        }
    }
}

/// Options of a connection.
#[derive(Clone, Default)]
pub struct Options {
    /// The location of the cluster.
    pub source: Source,
    /// Observes every answer, for metrics.
    pub observer: Option<Arc<dyn RequestObserver>>,
    /// Timeouts and bounds.
    pub settings: Settings,
}

/// An error of a connection.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The kubeconfig cannot be read.
    #[error("cannot read the kubeconfig {file}")]
    Unreadable {
        /// The path of the kubeconfig.
        file: String,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// The kubeconfig lacks the requested context.
    #[error("the kubeconfig {file} has no context {context:?}; it has {}", .known.join(", "))]
    NoContext {
        /// The path of the kubeconfig.
        file: String,
        /// The context that was requested.
        context: String,
        /// The contexts of the kubeconfig.
        known: Vec<String>,
    },
    /// The kubeconfig is not valid.
    #[error("cannot use the kubeconfig {file}")]
    Kubeconfig {
        /// The path of the kubeconfig.
        file: String,
        /// The cause.
        #[source]
        cause: kube::config::KubeconfigError,
    },
    /// The service account of the Pod does not exist.
    #[error("cannot use the pod's service account")]
    InCluster(#[source] kube::config::InClusterError),
    /// Certificates or credentials cannot be used.
    #[error("cannot build a client from the configuration")]
    Client(#[source] kube::Error),
}

/// A connection to a cluster.
#[derive(Clone)]
pub struct Connection {
    /// The cluster.
    pub cluster: Cluster,
    /// A plain kube client for requests without JSON (exec, logs).
    pub client: kube::Client,
    /// Namespace of the context, or of the pod.
    pub namespace: String,
    /// True if the configuration is that of the Pod.
    pub in_cluster: bool,
    /// Host and port of the API server.
    pub host: String,
}

/// Creates the connection. Sends no request.
pub async fn connect(options: Options) -> Result<Connection, Error> {
    let Options {
        source,
        observer,
        settings,
    } = options;
    let reached = match source {
        Source::Client(client) => ConnectionParts {
            namespace: client.default_namespace().to_owned(),
            transport: transport::from_client(client.clone()),
            client,
            in_cluster: false,
            host: String::new(),
        },
        Source::Configured {
            kubeconfig,
            context,
        } => configured(kubeconfig, context).await?,
    };
    let mut transport = reached.transport;
    if let Some(observer) = observer {
        transport = transport::boxed(MeasureLayer::new(observer).layer(transport));
    }
    Ok(Connection {
        cluster: Cluster::new(transport, settings),
        client: reached.client,
        namespace: reached.namespace,
        in_cluster: reached.in_cluster,
        host: reached.host,
    })
}

/// A client, with the values of its configuration.
struct ConnectionParts {
    transport: Transport,
    client: kube::Client,
    namespace: String,
    in_cluster: bool,
    host: String,
}

async fn configured(
    kubeconfig: Option<PathBuf>,
    context: Option<String>,
) -> Result<ConnectionParts, Error> {
    let in_cluster = kubeconfig.is_none()
        && context.is_none()
        && std::env::var_os("KUBECONFIG").is_none_or(|value| value.is_empty())
        && std::env::var_os("KUBERNETES_SERVICE_HOST").is_some();
    let mut config = if in_cluster {
        Config::incluster().map_err(Error::InCluster)?
    } else {
        from_kubeconfig(kubeconfig, context).await?
    };
    // The timeouts are off, because each call has its own retries and deadlines, and watches can be silent
    // for a long time.
    config.default_retry = false;
    config.read_timeout = None;
    config.connect_timeout = Some(CONNECT_TIMEOUT);
    config
        .headers
        .push((USER_AGENT, HeaderValue::from_static(USER_AGENT_VALUE)));
    let namespace = config.default_namespace.clone();
    let host = config.cluster_url.authority().map(ToString::to_string);
    let files = certificate_reload::files(&config);
    let transport = certificate_reload::reloading(files, move || build(&config));
    let transport = transport.map_err(Error::Client)?;
    let client = kube::Client::new(transport.clone(), &namespace);
    Ok(ConnectionParts {
        transport,
        client,
        namespace,
        in_cluster,
        host: host.unwrap_or_default(),
    })
}

/// Creates transports with new connections to a cluster and the current credentials.
fn build(config: &Config) -> Result<Transport, kube::Error> {
    if config.proxy_url.is_none() {
        return transport::over_http(config, CONNECT_TIMEOUT);
    }
    let client = ClientBuilder::try_from(config.clone())?.build();
    Ok(transport::from_client(client))
}

/// Refuses a kubeconfig that is a named pipe or a device, because a read of it would not end. Does not
/// check whether the file exists; kube does.
fn expect_regular(file: &Path) -> Result<(), Error> {
    match regular_file::check(file) {
        Err(cause) if cause.kind() != io::ErrorKind::NotFound => Err(Error::Unreadable {
            file: file.display().to_string(),
            cause,
        }),
        _ => Ok(()),
    }
}

async fn from_kubeconfig(path: Option<PathBuf>, context: Option<String>) -> Result<Config, Error> {
    let named = || {
        std::env::var("KUBECONFIG")
            .ok()
            .filter(|value| !value.is_empty())
    };
    let file = match &path {
        Some(path) => path.display().to_string(),
        None => named().unwrap_or_else(|| "~/.kube/config".to_owned()),
    };
    let failed = |cause| match cause {
        KubeconfigError::ReadConfig(cause, _) => Error::Unreadable {
            file: file.clone(),
            cause,
        },
        cause => Error::Kubeconfig {
            file: file.clone(),
            cause,
        },
    };
    let named_files = match &path {
        Some(path) => vec![path.clone()],
        None => std::env::split_paths(&named().unwrap_or_default()).collect(),
    };
    named_files
        .iter()
        .try_for_each(|file| expect_regular(file))?;
    let kubeconfig = match &path {
        Some(path) => Kubeconfig::read_from(path),
        None => Kubeconfig::read(),
    };
    let kubeconfig = kubeconfig.map_err(failed)?;
    let known = || kubeconfig.contexts.iter().map(|context| &context.name);
    if let Some(context) = context
        .clone()
        .filter(|asked| known().all(|it| it != asked))
    {
        return Err(Error::NoContext {
            context,
            known: known().cloned().collect(),
            file,
        });
    }
    let options = KubeConfigOptions {
        context,
        ..KubeConfigOptions::default()
    };
    let authority = authority_file(&kubeconfig, options.context.as_deref());
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    let mut config = config.map_err(failed)?;
    // kube reads this file again each minute.
    config.root_cert_file = authority;
    Ok(config)
}

/// Returns the file with the CA of the server's certificate, if the context names one.
fn authority_file(kubeconfig: &Kubeconfig, context: Option<&str>) -> Option<PathBuf> {
    let context = context.or(kubeconfig.current_context.as_deref())?;
    let mut contexts = kubeconfig.contexts.iter();
    let context = contexts
        .find(|named| named.name == context)?
        .context
        .as_ref()?;
    let mut clusters = kubeconfig.clusters.iter();
    let cluster = clusters.find(|named| named.name == context.cluster)?;
    let cluster = cluster.cluster.as_ref()?;
    // The data takes precedence over the file, as in kubectl.
    let file = cluster.certificate_authority.as_ref();
    file.filter(|_| cluster.certificate_authority_data.is_none())
        .map(PathBuf::from)
}

#[cfg(test)]
mod tests {
    use serde_json::json;
    use tokio::io::AsyncReadExt;
    use tokio::net::TcpListener;

    use super::*;

    /// Returns the first request to a local listener whose port the kubeconfig names.
    async fn first_bytes(kubeconfig: impl FnOnce(u16) -> serde_json::Value) -> String {
        let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
        let file = tempfile::NamedTempFile::new().unwrap();
        let config = kubeconfig(listener.local_addr().unwrap().port());
        std::fs::write(file.path(), config.to_string()).unwrap();
        let source = Source::Configured {
            kubeconfig: Some(file.path().to_owned()),
            context: None,
        };
        let options = Options {
            source,
            ..Options::default()
        };
        let connection = connect(options).await.unwrap();
        let asking = tokio::spawn(async move { connection.cluster.ping().await });
        let (mut stream, _) = listener.accept().await.unwrap();
        let mut text = Vec::new();
        while !text.ends_with(b"\r\n\r\n") {
            assert_ne!(stream.read_buf(&mut text).await.unwrap(), 0, "cut");
        }
        asking.abort();
        String::from_utf8(text).unwrap().to_lowercase()
    }

    fn kubeconfig(cluster: &serde_json::Value) -> serde_json::Value {
        json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "here",
            "contexts": [{"name": "here", "context": {"cluster": "here", "user": "me"}}],
            "clusters": [{"name": "here", "cluster": cluster}],
            "users": [{"name": "me", "user": {"token": "t0ken", "as": "bob"}}],
        })
    }

    #[tokio::test]
    async fn requests_say_who_asks() {
        let server = |port| kubeconfig(&json!({"server": format!("http://127.0.0.1:{port}/base")}));
        let text = first_bytes(server).await;
        assert!(text.starts_with("get /base/"), "{text}");
        for header in [
            "authorization: bearer t0ken\r\n",
            "impersonate-user: bob\r\n",
            &format!("user-agent: {USER_AGENT_VALUE}\r\n"),
        ] {
            assert!(text.contains(header), "{header}: {text}");
        }
    }

    #[tokio::test]
    async fn requests_go_through_the_proxy_that_is_named() {
        let text = first_bytes(|port| {
            kubeconfig(&json!({
                "server": "https://api.invalid:6443",
                "proxy-url": format!("http://127.0.0.1:{port}"),
            }))
        })
        .await;
        assert!(text.starts_with("connect api.invalid:6443 "), "{text}");
    }
}
