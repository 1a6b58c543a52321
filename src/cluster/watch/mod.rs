//! Watches: each keeps a cache of what it selects and tells listeners of changes.
//!
//! # Guarantees
//! - A listener hears of every change that lasts, deletions during a lost connection included.
//! - It does not hear of our own writes, whichever of answer and event comes first; a foreign change
//!   between our view and our write is heard.
//! - A cache never goes back: the newer resource version wins.
//! - A dead connection is noticed within the watch timeout and a few seconds.

mod cache;
mod registry;
mod subscription;
mod task;
mod wire;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use tokio_util::sync::CancellationToken;

use self::cache::Cache;
pub(super) use self::cache::{WriteResult, compare};
pub(super) use self::registry::{WatchRegistry, WriteGuard};
pub use self::subscription::{Scope, Subscription};
pub(super) use self::wire::{list_call, parse_page, push_parameter};
use super::Record;
use super::error::{Error, ErrorKind, Target};
use crate::clock::{self, Instant};
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, Object};

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct WatchSpec {
    /// Objects of this kind,
    pub gvk: Gvk,
    /// in this namespace, or in all,
    pub namespace: Option<Arc<str>>,
    /// with these labels.
    pub labels: LabelSelector,
    /// How much of them is kept.
    pub content: Content,
    /// What for.
    pub purpose: Purpose,
}

/// How much of an object a watch keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// All of it.
    Full,
    /// Name, uid, versions and labels: the objects have an empty body.
    Metadata,
}

/// What a watch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Custom resources to reconcile.
    Primary,
    /// Objects that carry the owner label.
    Children,
    /// Objects that runs read.
    Reference,
}

impl WatchSpec {
    /// Returns whether the watch could hold an object of its kind in this namespace.
    fn covers(&self, namespace: Option<&str>) -> bool {
        self.namespace.is_none() || self.namespace.as_deref() == namespace
    }
}

/// How a watch is doing.
#[derive(Clone, Debug, Default)]
pub enum WatchState {
    /// Not synced yet.
    #[default]
    Starting,
    /// The cache is complete and follows the server.
    Synced,
    /// We may not list or watch.
    Forbidden(Error),
    /// The cluster does not serve the kind; the watch waits for it.
    KindAbsent,
    /// It does not work, and is tried again.
    Failing {
        /// Since when.
        since: Instant,
        /// The last failure.
        error: Error,
    },
}

/// A change that a watch saw.
#[derive(Clone, Debug)]
pub struct ObjectChange {
    /// The object before, `None` if it is new.
    pub old: Option<Arc<Object>>,
    /// The object now, `None` if it is gone.
    pub new: Option<Arc<Object>>,
}

/// Hears of changes, from the watch's task: quick and without blocking.
pub trait Listener: Send + Sync {
    /// An object came, changed or went; not by our own hand.
    fn changed(&self, watch: &Watch, change: &ObjectChange);
    /// The watch is doing better or worse.
    fn state_changed(&self, watch: &Watch, state: &WatchState);
    /// The watch was closed; nothing follows from it.
    fn closed(&self, watch: &Watch);
}

/// Tells a watch from all others of the process, former ones of the same spec included.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct WatchId(u64);

/// A running watch and its cache.
pub struct Watch {
    id: WatchId,
    spec: WatchSpec,
    store: Mutex<Cache>,
    state: tokio::sync::watch::Sender<WatchState>,
    alive: Mutex<Instant>,
    silence_bound: Duration,
    /// Locked while listeners hear of a state, so that none follows after the watch was closed.
    closed: Mutex<bool>,
    stop: CancellationToken,
}

impl Watch {
    fn new(id: WatchId, spec: WatchSpec, silence_bound: Duration, stop: CancellationToken) -> Self {
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

    /// Returns what tells the watch from all others.
    pub fn id(&self) -> WatchId {
        self.id
    }

    /// What is watched.
    pub fn spec(&self) -> &WatchSpec {
        &self.spec
    }

    /// Waits until the cache is complete. Ends with an error where that cannot be (forbidden, the
    /// kind is absent); a server that is away is waited for.
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
                let words = "the watch has ended";
                return Err(Error::local(
                    ErrorKind::Cancelled,
                    words,
                    self.target("watch"),
                ));
            }
        }
    }

    /// Returns whether the cache has been filled, and followed the server since.
    pub fn is_complete(&self) -> bool {
        self.store.lock().complete()
    }

    /// The object, if the cache holds it.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<Object>> {
        let store = self.store.lock();
        store.get(namespace.unwrap_or_default(), name).cloned()
    }

    /// The objects with these labels, by namespace and name.
    pub fn list(&self, namespace: Option<&str>, labels: &LabelSelector) -> Vec<Arc<Object>> {
        let store = self.store.lock();
        let fits = |object: &&Arc<Object>| labels.matches(|key| object.label(key));
        store.iter(namespace).filter(fits).cloned().collect()
    }

    /// The objects with this owner label.
    pub fn owned_by(&self, owner_uid: &str) -> Vec<Arc<Object>> {
        self.store.lock().owned_by(owner_uid).cloned().collect()
    }

    /// How many objects the cache holds.
    pub fn len(&self) -> usize {
        self.store.lock().len()
    }

    /// Returns whether the cache holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How it is doing.
    pub fn state(&self) -> WatchState {
        self.state.borrow().clone()
    }

    /// How long ago its task last gave a sign of life; beyond [`Watch::silence_bound`] it is stuck.
    pub fn idle(&self) -> Duration {
        self.alive.lock().elapsed()
    }

    /// The longest time that a healthy task gives no sign of life.
    pub fn silence_bound(&self) -> Duration {
        self.silence_bound
    }

    pub(super) fn bytes(&self) -> usize {
        self.store.lock().bytes()
    }

    /// Counts the changes of the cache.
    pub(super) fn version(&self) -> u64 {
        self.store.lock().version()
    }

    pub(super) fn record(&self, namespace: &str, name: &str) -> Option<Record> {
        self.store.lock().record(namespace, name)
    }

    /// Takes the record if there is an object to keep it beside.
    fn set_record(&self, namespace: &str, name: &str, record: &mut Option<Record>) {
        self.store.lock().set_record(namespace, name, record);
    }

    /// Ends the task. Listeners hear of no state from here on.
    fn stop(&self) {
        *self.closed.lock() = true;
        self.stop.cancel();
    }

    fn touch(&self) {
        *self.alive.lock() = clock::now();
    }

    fn kind_absent(&self) -> Error {
        let message = format!("the cluster does not serve {}", self.spec.gvk);
        Error::local(ErrorKind::KindAbsent, message, self.target("watch"))
    }

    fn target(&self, verb: &'static str) -> Target {
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
