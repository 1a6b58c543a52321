//! The connection to a cluster: requests, discovery, watches and their caches.
//!
//! Reading order: [`Cluster`] (here), [`request`] (writes and live reads), [`read`] (cached reads, which
//! are subscriptions), [`watch`] (fills the caches and triggers runs), [`layer`] (wraps requests),
//! [`discovery`].
//!
//! Writes update the caches: before a write returns, each watch that selects the object has its answer.
//! Listeners do not get the event of the write itself.

mod api_call;
mod certificate_reload;
pub(crate) mod conflict_retry;
pub mod connect;
mod crds;
pub(crate) mod discovery;
pub(crate) mod error;
mod guarded_body;
pub mod layer;
mod list_query;
mod object_cache;
pub mod read;
pub(crate) mod read_set;
pub mod request;
pub(crate) mod rules;
mod rules_review;
mod schema;
mod settings;
pub mod transport;
pub mod watch;

use std::collections::BTreeSet;
use std::sync::Arc;

use self::api_call::RetryPolicy;
use self::crds::CrdWatch;
pub use self::discovery::ApiKind;
use self::discovery::Discovery;
pub use self::error::{Error, ErrorKind};
use self::object_cache::ObjectCache;
pub use self::read_set::ReadSet;
pub use self::rules::Rules;
use self::rules::RulesReviews;
pub use self::settings::{Settings, WriteDeadline};
pub use self::transport::Transport;
pub use self::watch::Record;
use self::watch::{Content, Listener, Purpose, Watch, WatchRegistry, WatchSpec};
use crate::model::annotations::OWNER_LABEL;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, Object, ObjectRef};

/// A connection to a cluster, through a stack of layers. Cheap to clone; clones share discovery and caches.
#[derive(Clone)]
pub struct Cluster {
    shared: Arc<Shared>,
    transport: Transport,
    /// The fences of all active roles, the outermost first.
    fences: Vec<Arc<layer::Fence>>,
    write_deadline: Option<WriteDeadline>,
    dry_run: bool,
    live_reads: bool,
}

/// The state that all clones share. Dropping it ends the watches.
struct Shared {
    /// The transport without the layers of a clone, for discovery and watches.
    transport: Transport,
    settings: Settings,
    discovery: Arc<Discovery>,
    watches: Arc<WatchRegistry>,
    crds: Arc<CrdWatch>,
    values: ObjectCache,
    reviews: RulesReviews,
    /// Locked during the request of a CRD's schema, so that concurrent runs request it once.
    schemas: tokio::sync::Mutex<()>,
}

impl Cluster {
    /// Creates a cluster behind a transport: HTTP, or an API server in this process.
    pub fn new(transport: Transport, settings: Settings) -> Self {
        let discovery = Arc::new(Discovery::new(transport.clone(), settings.clone()));
        let watches = Arc::new(WatchRegistry::new(
            transport.clone(),
            settings.clone(),
            Arc::clone(&discovery),
        ));
        let shared = Arc::new(Shared {
            transport: transport.clone(),
            values: ObjectCache::new(settings.value_bytes),
            reviews: RulesReviews::default(),
            schemas: tokio::sync::Mutex::default(),
            settings,
            crds: CrdWatch::new(&discovery, &watches),
            watches,
            discovery,
        });
        Self {
            shared,
            transport,
            fences: Vec::new(),
            write_deadline: None,
            dry_run: false,
            live_reads: false,
        }
    }

    /// Returns a clone with one more layer around its requests. The clone shares the caches. Watches and
    /// discovery do not pass through the layer.
    #[must_use]
    pub fn with_layer<L>(&self, layer: &L) -> Self
    where
        L: tower::Layer<Transport>,
        L::Service: transport::Service,
    {
        Self {
            transport: transport::boxed(layer.layer(self.transport.clone())),
            ..self.clone()
        }
    }

    /// Returns a clone whose writes are server dry-runs. Their answers do not change the caches.
    #[must_use]
    pub fn with_dry_run(&self) -> Self {
        Self {
            dry_run: true,
            ..self.with_layer(&layer::PlanLayer)
        }
    }

    /// Returns a clone that sends a request for each read, for a process with a single run.
    #[must_use]
    pub fn with_live_reads(&self) -> Self {
        Self {
            live_reads: true,
            ..self.clone()
        }
    }

    /// Returns a clone with one more fence, which also applies to cached reads.
    #[must_use]
    pub fn with_fence(&self, fence: Arc<layer::Fence>) -> Self {
        let mut fenced = self.with_layer(&layer::FenceLayer {
            fence: Arc::clone(&fence),
            discovery: Arc::clone(&self.shared.discovery),
        });
        fenced.fences.push(fence);
        fenced
    }

    /// Returns a clone that requests a deadline before each write.
    #[must_use]
    pub fn with_write_deadline(&self, deadline: WriteDeadline) -> Self {
        Self {
            write_deadline: Some(deadline),
            ..self.clone()
        }
    }

    /// Returns a clone without layers: for requests that a fence has allowed, and for those of the runtime
    /// itself.
    pub(crate) fn unfenced(&self) -> Self {
        Self {
            transport: self.shared.transport.clone(),
            fences: Vec::new(),
            ..self.clone()
        }
    }

    /// Returns the kind; `None` if the cluster does not serve it.
    pub async fn kind(&self, gvk: &Gvk) -> Result<Option<Arc<ApiKind>>, Error> {
        if let Some(kind) = self.shared.discovery.known(gvk) {
            return Ok(Some(kind));
        }
        let kind = self.shared.discovery.kind(gvk, RetryPolicy::Always).await?;
        if kind.is_none() {
            // From now on the watch on the CRDs reports when it appears.
            self.shared.crds.open();
        }
        Ok(kind)
    }

    /// Returns all kinds, each at its group's preferred version. Omits a group that does not answer, such
    /// as an aggregated API whose server is down.
    pub async fn kinds(&self) -> Result<Arc<[Arc<ApiKind>]>, Error> {
        self.shared.discovery.all().await
    }

    /// Returns the API groups with their versions, the preferred one first; `""` is the core group.
    pub async fn api_groups(&self) -> Result<Vec<discovery::ApiGroup>, Error> {
        Ok(self.shared.discovery.groups().await?.to_vec())
    }

    /// Returns the version of the server, such as `v1.36.3`.
    pub async fn k8s_version(&self) -> Result<String, Error> {
        self.shared.discovery.version(RetryPolicy::Always).await
    }

    /// Sends one cheap request without retries, to find out whether the server answers.
    pub async fn ping(&self) -> Result<(), Error> {
        match self.shared.discovery.version(RetryPolicy::Never).await {
            // The server answered.
            Err(error) if error.kind == ErrorKind::Forbidden => Ok(()),
            answer => answer.map(drop),
        }
    }

    /// Returns the record beside an object in a cache.
    pub fn record(&self, object: &ObjectRef) -> Option<Record> {
        self.shared.watches.record(object)
    }

    /// Stores a record beside an object in a cache, if a cache has the object.
    pub fn set_record(&self, object: &ObjectRef, record: Record) {
        self.shared.watches.set_record(object, record);
    }

    /// Returns the watch of a spec, and starts it if there is none.
    pub fn watch(&self, spec: WatchSpec) -> Arc<Watch> {
        self.shared.watches.watch(spec)
    }

    /// Returns the watch on children of a kind in a namespace, and starts it if there is none.
    pub fn children(&self, gvk: &Gvk, namespace: Option<&str>) -> Arc<Watch> {
        let bounded = self.shared.settings.namespaces.is_some();
        self.watch(WatchSpec {
            gvk: gvk.clone(),
            namespace: namespace.filter(|_| bounded).map(Arc::from),
            labels: LabelSelector::exists(OWNER_LABEL),
            content: Content::Full,
            purpose: Purpose::Children,
        })
    }

    /// Returns all open watches.
    pub fn watches(&self) -> Vec<Arc<Watch>> {
        self.shared.watches.all()
    }

    /// Closes a watch, e.g. when its custom resources are no longer served.
    pub fn close(&self, spec: &WatchSpec) {
        self.shared.watches.close(spec);
    }

    /// Returns the namespaces that children are watched in; `None` for all.
    pub fn namespaces(&self) -> Option<&BTreeSet<Arc<str>>> {
        self.shared.settings.namespaces.as_ref()
    }

    /// Calls the listener for every change that any watch reports from now on.
    pub fn listen(&self, listener: Arc<dyn Listener>) {
        self.shared.watches.listen(listener);
    }

    /// Returns the cached children with this owner's label, of all watched kinds.
    pub fn owned_by(&self, owner_uid: &str) -> Vec<Arc<Object>> {
        let mut children = self.shared.watches.all();
        children.retain(|watch| watch.spec().purpose == Purpose::Children);
        children
            .iter()
            .flat_map(|watch| watch.owned_by(owner_uid))
            .collect()
    }

    /// Returns the size of the caches in bytes, for a metric.
    pub fn cached_bytes(&self) -> usize {
        let watches = self.shared.watches.all();
        let objects: usize = watches.iter().map(|watch| watch.bytes()).sum();
        objects + self.shared.values.bytes()
    }
}
