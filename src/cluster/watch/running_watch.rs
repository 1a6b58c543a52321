//! A running watch with its cache, and the listeners of watches.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use super::cache::{Cache, Record};
use super::change::ObjectChange;
use super::spec::WatchSpec;
use crate::clock::{self, Instant};
use crate::cluster::error::{Error, ErrorKind, Target};
use crate::model::Object;
use crate::model::selector::LabelSelector;

/// The state of a watch.
#[derive(Clone, Debug, Default)]
pub enum WatchState {
    /// The first list is not complete.
    #[default]
    Starting,
    /// The cache is complete and follows the server.
    Synced,
    /// The server forbids to list or watch.
    Forbidden(Error),
    /// The cluster does not serve the kind; the watch waits for it.
    KindAbsent,
    /// The watch failed and retries.
    Failing {
        /// The time of the first failure in a row.
        since: Instant,
        /// The last failure.
        error: Error,
    },
}

/// A listener of watches. Their tasks call it, so it must not block.
pub trait Listener: Send + Sync {
    /// Called when an object was created, changed or deleted by another process.
    fn changed(&self, watch: &Watch, change: &ObjectChange);
    /// Called when the state of a watch changed.
    fn state_changed(&self, watch: &Watch, state: &WatchState);
    /// Called when a watch was closed, after all other calls for it.
    fn closed(&self, watch: &Watch);
}

/// The identity of a watch in the process. A later watch of the same spec has another one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WatchId(pub(super) u64);

/// A running watch and its cache.
pub struct Watch {
    pub(super) id: WatchId,
    pub(super) spec: WatchSpec,
    pub(super) store: Mutex<Cache>,
    pub(super) state: tokio::sync::watch::Sender<WatchState>,
    pub(super) alive: Mutex<Instant>,
    pub(super) silence_bound: Duration,
    /// Locked while listeners get a state, so that they get none after the watch was closed.
    pub(super) closed: Mutex<bool>,
    pub(super) stop: CancellationToken,
}

impl Watch {
    pub(super) fn new(
        id: WatchId,
        spec: WatchSpec,
        silence_bound: Duration,
        stop: CancellationToken,
    ) -> Self {
        Self {
            id,
            spec,
            store: Mutex::default(),
            state: tokio::sync::watch::Sender::new(WatchState::Starting),
            alive: Mutex::new(clock::now()),
            silence_bound,
            closed: Mutex::new(false),
            stop,
        }
    }

    /// Returns the watch's identity.
    pub fn id(&self) -> WatchId {
        self.id
    }

    /// Returns the selection of the watch.
    pub fn spec(&self) -> &WatchSpec {
        &self.spec
    }

    /// Waits until the cache is complete. Fails if it cannot become complete, because the watch is
    /// forbidden or the kind is absent. Continues to wait while the server is down.
    pub async fn synced(&self) -> Result<(), Error> {
        let mut states = self.state.subscribe();
        loop {
            if self.is_complete() {
                return Ok(());
            }
            match &*states.borrow_and_update() {
                WatchState::Forbidden(error) => return Err(error.clone()),
                WatchState::KindAbsent => return Err(self.kind_absent()),
                WatchState::Starting | WatchState::Synced | WatchState::Failing { .. } => {}
            }
            let ended = tokio::select! {
                changed = states.changed() => changed.is_err(),
                () = self.stop.cancelled() => true,
            };
            if ended {
                let words = "the watch was closed";
                return Err(Error::local(
                    ErrorKind::Cancelled,
                    words,
                    self.target("watch"),
                ));
            }
        }
    }

    /// Returns whether the cache is complete and follows the server.
    pub fn is_complete(&self) -> bool {
        self.store.lock().complete()
    }

    /// Returns the object, if the cache has it.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<Object>> {
        let store = self.store.lock();
        store.get(namespace.unwrap_or_default(), name).cloned()
    }

    /// Returns the objects with these labels, by namespace and name.
    pub fn list(&self, namespace: Option<&str>, labels: &LabelSelector) -> Vec<Arc<Object>> {
        let store = self.store.lock();
        let fits = |object: &&Arc<Object>| labels.matches(|key| object.label(key));
        store.iter(namespace).filter(fits).cloned().collect()
    }

    /// Returns the objects with this owner label.
    pub fn owned_by(&self, owner_uid: &str) -> Vec<Arc<Object>> {
        self.store.lock().owned_by(owner_uid).cloned().collect()
    }

    /// Returns the number of objects in the cache.
    pub fn len(&self) -> usize {
        self.store.lock().len()
    }

    /// Returns whether the cache has no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the state of the watch.
    pub fn state(&self) -> WatchState {
        self.state.borrow().clone()
    }

    /// Returns the time since the task was last active. Beyond [`Watch::silence_bound`] it is stuck.
    pub fn idle(&self) -> Duration {
        self.alive.lock().elapsed()
    }

    /// Returns the longest time between two signs of activity of a healthy task.
    pub fn silence_bound(&self) -> Duration {
        self.silence_bound
    }

    pub(in crate::cluster) fn bytes(&self) -> usize {
        self.store.lock().bytes()
    }

    /// Returns the number of changes of the cache.
    pub(in crate::cluster) fn version(&self) -> u64 {
        self.store.lock().version()
    }

    pub(in crate::cluster) fn record(&self, namespace: &str, name: &str) -> Option<Record> {
        self.store.lock().record(namespace, name)
    }

    /// Stores the record if the cache has the object.
    pub(super) fn set_record(&self, namespace: &str, name: &str, record: &mut Option<Record>) {
        self.store.lock().set_record(namespace, name, record);
    }

    /// Ends the task. Listeners get no state afterwards.
    pub(super) fn stop(&self) {
        *self.closed.lock() = true;
        self.stop.cancel();
    }

    pub(super) fn touch(&self) {
        *self.alive.lock() = clock::now();
    }

    pub(super) fn kind_absent(&self) -> Error {
        let message = format!("the cluster does not serve {}", self.spec.gvk);
        Error::local(ErrorKind::KindAbsent, message, self.target("watch"))
    }

    pub(super) fn target(&self, verb: &'static str) -> Target {
        Target {
            verb,
            resource: self.spec.gvk.kind_group(),
            namespace: self
                .spec
                .namespace
                .as_deref()
                .unwrap_or_default()
                .to_owned(),
            name: String::new(),
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.spec).finish()
    }
}
