//! The door to a cluster: requests, discovery, watches and the caches that they fill.
//!
//! Reading order: [`Cluster`] (here), [`request`] (writes and live reads), [`read`] (cached reads,
//! which are subscriptions), [`watch`] (what fills the caches and triggers runs), [`layer`] (what
//! lies between us and the server), [`discovery`].
//!
//! Writes go through to the caches by themselves: the answer of a write is in every watch that holds
//! the object before the call returns, and the event that is this very write reaches no listener.

pub mod connect;
pub mod discovery;
pub mod error;
pub mod layer;
pub mod read;
pub mod request;
pub mod transport;
pub mod watch;

use std::any::Any;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

pub use self::discovery::ApiKind;
pub use self::error::{Error, ErrorKind};
pub use self::transport::Transport;
use crate::clock::Instant;
use crate::model::{Gvk, Object, ObjectRef};

/// How long things may take and how much may be kept.
#[derive(Clone, Debug)]
pub struct Settings {
    /// A call with its retries.
    pub call_timeout: Duration,
    /// One attempt of it.
    pub attempt_timeout: Duration,
    /// The server ends a watch after this time; a silent one is cut a little later.
    pub watch_timeout: Duration,
    /// Bound on cached values of referenced objects, in bytes.
    pub value_bytes: usize,
    /// Namespaces that children and references are watched in; `None` for all.
    pub namespaces: Option<BTreeSet<Arc<str>>>,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            // Two attempts fit, and a script notices a dead server well within its own timeout.
            call_timeout: Duration::from_secs(30),
            // A webhook has 10 s by default; longer silence means a dead connection.
            attempt_timeout: Duration::from_secs(14),
            watch_timeout: Duration::from_mins(1),
            // A few thousand ConfigMaps; beyond it values are read again.
            value_bytes: 8 << 20,
            namespaces: None,
        }
    }
}

/// A cluster, seen through a stack of layers. Cheap to clone; clones share discovery and caches.
#[derive(Clone)]
pub struct Cluster {
    transport: Transport,
}

/// A memo that `apply` keeps beside a cached object; it goes when the object goes.
pub type Record = Arc<dyn Any + Send + Sync>;

/// What a deadline hook says before each write: until when it may take, `None` for never.
pub type WriteDeadline = Arc<dyn Fn() -> Option<Instant> + Send + Sync>;

impl Cluster {
    /// A cluster behind a transport: HTTP, or an API server in this process.
    pub fn new(transport: Transport, settings: Settings) -> Self {
        let _ = settings;
        Self { transport }
    }

    /// The same cluster with one more layer between it and the server; caches are shared, and what
    /// fills them (watches, discovery) does not pass the layer.
    #[must_use]
    pub fn with_layer<L>(&self, layer: &L) -> Self
    where
        L: tower::Layer<Transport>,
        L::Service: transport::Service,
    {
        Self {
            transport: transport::boxed(layer.layer(self.transport.clone())),
        }
    }

    /// The same cluster with writes as server dry-runs; their answers are not kept in caches.
    #[must_use]
    pub fn with_dry_run(&self) -> Self {
        self.clone()
    }

    /// Whether writes are dry-runs.
    pub fn is_dry_run(&self) -> bool {
        false
    }

    /// The same cluster with what a role may do fenced in, cached reads included.
    #[must_use]
    pub fn with_fence(&self, fence: Arc<layer::Fence>) -> Self {
        let _ = fence;
        self.clone()
    }

    /// The same cluster with a deadline on every write, asked before each.
    #[must_use]
    pub fn with_write_deadline(&self, deadline: WriteDeadline) -> Self {
        let _ = deadline;
        self.clone()
    }

    /// The kind as the cluster serves it; `None` if it does not.
    pub async fn kind(&self, gvk: &Gvk) -> Result<Option<Arc<ApiKind>>, Error> {
        let _ = gvk;
        todo!()
    }

    /// The kind of a resource name, e.g. `deployments` in `apps`, at the group's preferred version.
    pub async fn kind_of_resource(
        &self,
        group: &str,
        plural: &str,
    ) -> Result<Option<Arc<ApiKind>>, Error> {
        let _ = (group, plural);
        todo!()
    }

    /// All kinds, each at its group's preferred version.
    pub async fn kinds(&self) -> Result<Vec<Arc<ApiKind>>, Error> {
        todo!()
    }

    /// The API groups with their versions, the preferred one first; `""` is the core group.
    pub async fn api_groups(&self) -> Result<Vec<discovery::ApiGroup>, Error> {
        todo!()
    }

    /// The server's version, e.g. `v1.36.3`.
    pub async fn k8s_version(&self) -> Result<String, Error> {
        todo!()
    }

    /// The memo beside an object in a cache, if one holds the object.
    pub fn record(&self, object: &ObjectRef) -> Option<Record> {
        let _ = object;
        None
    }

    /// Leaves a memo beside an object in a cache; nothing happens where no cache holds it.
    pub fn set_record(&self, object: &ObjectRef, record: Record) {
        let _ = (object, record);
    }

    /// The watch, started if there is none like it.
    pub fn watch(&self, spec: watch::Spec) -> Arc<watch::Watch> {
        let _ = spec;
        todo!()
    }

    /// The watch over children of a kind that covers the namespace, started if there is none.
    pub fn children(&self, gvk: &Gvk, namespace: Option<&str>) -> Arc<watch::Watch> {
        let _ = (gvk, namespace);
        todo!()
    }

    /// All watches there are.
    pub fn watches(&self) -> Vec<Arc<watch::Watch>> {
        Vec::new()
    }

    /// Ends a watch and drops what it holds, e.g. a reference that no run reads any more.
    pub fn release(&self, spec: &watch::Spec) {
        let _ = spec;
    }

    /// Calls the listener for every change that any watch sees from now on.
    pub fn listen(&self, listener: Arc<dyn watch::Listener>) {
        let _ = listener;
    }

    /// Children in caches that carry this owner's label, of all kinds watched.
    pub fn owned_by(&self, owner_uid: &str) -> Vec<Arc<Object>> {
        let _ = owner_uid;
        Vec::new()
    }

    /// Bytes that the caches hold, for a metric.
    pub fn cached_bytes(&self) -> usize {
        0
    }
}
