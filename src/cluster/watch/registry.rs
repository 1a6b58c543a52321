//! The registry of all watches of a cluster. It starts one watch per spec, finds watches by kind, and
//! updates their caches with the answers to writes.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::{Mutex, RwLock};
use tokio_util::sync::CancellationToken;

use super::cache::{Record, WriteResult};
use super::claims::Claims;
use super::listeners::Listeners;
use super::running_watch::{Listener, Watch, WatchId};
use super::spec::{Purpose, WatchSpec};
use super::task::{self, WatchTask};
use crate::cluster::discovery::Discovery;
use crate::cluster::settings::Settings;
use crate::cluster::transport::Transport;
use crate::model::{Gvk, Object, ObjectRef};

/// All watches. They end when it is dropped.
pub(in crate::cluster) struct WatchRegistry {
    transport: Transport,
    settings: Settings,
    discovery: Arc<Discovery>,
    listeners: Arc<Listeners>,
    by_kind: RwLock<HashMap<Gvk, Vec<Arc<Watch>>>>,
    pub(super) claims: Mutex<Claims>,
    /// The number of watches that were ever started.
    started: AtomicU64,
    /// Locked during a start, so that one spec gets one watch.
    starting: Mutex<()>,
    stop: CancellationToken,
}

impl Drop for WatchRegistry {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl WatchRegistry {
    pub(in crate::cluster) fn new(
        transport: Transport,
        settings: Settings,
        discovery: Arc<Discovery>,
    ) -> Self {
        Self {
            transport,
            settings,
            discovery,
            listeners: Arc::default(),
            by_kind: RwLock::default(),
            claims: Mutex::default(),
            started: AtomicU64::new(0),
            starting: Mutex::default(),
            stop: CancellationToken::new(),
        }
    }

    pub(in crate::cluster) fn listen(&self, listener: Arc<dyn Listener>) {
        self.listeners.0.write().push(listener);
    }

    /// Returns the watch of a spec, and starts it if there is none.
    pub(in crate::cluster) fn watch(&self, spec: WatchSpec) -> Arc<Watch> {
        if let Some(watch) = self.find(&spec) {
            return watch;
        }
        let _one_at_a_time = self.starting.lock();
        if let Some(watch) = self.find(&spec) {
            return watch;
        }
        let bound = task::silence_bound(&self.settings);
        let id = WatchId(self.started.fetch_add(1, Ordering::Relaxed));
        let watch = Arc::new(Watch::new(id, spec, bound, self.stop.child_token()));
        let gvk = watch.spec.gvk.clone();
        self.by_kind
            .write()
            .entry(gvk)
            .or_default()
            .push(Arc::clone(&watch));
        let task = WatchTask {
            watch: Arc::clone(&watch),
            transport: self.transport.clone(),
            settings: self.settings.clone(),
            discovery: Arc::clone(&self.discovery),
            listeners: Arc::clone(&self.listeners),
        };
        task.spawn();
        watch
    }

    pub(in crate::cluster) fn find(&self, spec: &WatchSpec) -> Option<Arc<Watch>> {
        let by_kind = self.by_kind.read();
        by_kind
            .get(&spec.gvk)?
            .iter()
            .find(|watch| watch.spec == *spec)
            .cloned()
    }

    /// Closes the watch of a spec, if there is one.
    pub(in crate::cluster) fn close(&self, spec: &WatchSpec) {
        for watch in self.remove(&spec.gvk, |watch| watch.spec == *spec) {
            self.end(&watch);
        }
    }

    /// Removes the watches of a kind that `select` selects from the registry.
    pub(super) fn remove(&self, gvk: &Gvk, select: impl Fn(&Watch) -> bool) -> Vec<Arc<Watch>> {
        let mut by_kind = self.by_kind.write();
        let Some(watches) = by_kind.get_mut(gvk) else {
            return Vec::new();
        };
        let removed = watches.extract_if(.., |watch| select(watch)).collect();
        if watches.is_empty() {
            by_kind.remove(gvk);
        }
        removed
    }

    /// Ends a watch that is no longer registered. Listeners do not get its state afterwards.
    pub(super) fn end(&self, watch: &Watch) {
        watch.stop();
        self.listeners.notify_closed(watch);
    }

    pub(super) fn may_watch_all_namespaces(&self) -> bool {
        self.settings.namespaces.is_none()
    }

    pub(in crate::cluster) fn all(&self) -> Vec<Arc<Watch>> {
        self.by_kind.read().values().flatten().cloned().collect()
    }

    /// Calls the function for each watch of a kind that covers a namespace, until one returns a value.
    pub(in crate::cluster) fn find_map<T>(
        &self,
        gvk: &Gvk,
        namespace: Option<&str>,
        ask: impl FnMut(&Arc<Watch>) -> Option<T>,
    ) -> Option<T> {
        let by_kind = self.by_kind.read();
        let covering = by_kind
            .get(gvk)?
            .iter()
            .filter(|watch| watch.spec.covers(namespace));
        covering.into_iter().find_map(ask)
    }

    /// Returns the watches of a kind that serve reads.
    pub(in crate::cluster) fn reference_watches(&self, gvk: &Gvk) -> Vec<Arc<Watch>> {
        let by_kind = self.by_kind.read();
        let watches = by_kind.get(gvk).into_iter().flatten();
        watches
            .filter(|watch| watch.spec.purpose == Purpose::Reference)
            .cloned()
            .collect()
    }

    pub(in crate::cluster) fn record(&self, object: &ObjectRef) -> Option<Record> {
        let (namespace, name) = (object.namespace_or_empty(), &*object.name);
        self.find_map(&object.gvk, object.namespace.as_deref(), |watch| {
            watch.record(namespace, name)
        })
    }

    pub(in crate::cluster) fn set_record(&self, object: &ObjectRef, record: Record) {
        let (namespace, name) = (object.namespace_or_empty(), &*object.name);
        let mut record = Some(record);
        self.find_map(&object.gvk, object.namespace.as_deref(), |watch| {
            watch.set_record(namespace, name, &mut record);
            record.is_none().then_some(())
        });
    }

    /// Starts a write to an object. Its events are deferred until the guard has the answer.
    pub(in crate::cluster) fn write(&self, object: &ObjectRef) -> WriteGuard {
        let mut watches = Vec::new();
        let _: Option<()> = self.find_map(&object.gvk, object.namespace.as_deref(), |watch| {
            watches.push(Arc::clone(watch));
            None
        });
        let namespace = object.namespace.clone().unwrap_or_else(|| Arc::from(""));
        let key = (namespace, Arc::clone(&object.name));
        for watch in &watches {
            watch.store.lock().write_begins(&key);
        }
        WriteGuard {
            watches,
            key,
            listeners: Arc::clone(&self.listeners),
        }
    }
}

/// A write in flight.
pub(in crate::cluster) struct WriteGuard {
    watches: Vec<Arc<Watch>>,
    key: (Arc<str>, Arc<str>),
    listeners: Arc<Listeners>,
}

impl WriteGuard {
    /// Returns the cached object, preferably from a cache with whole objects.
    pub(in crate::cluster) fn before(&self) -> Option<Arc<Object>> {
        let held = self.watches.iter();
        let held = held.filter_map(|watch| watch.get(Some(&self.key.0), &self.key.1));
        held.max_by_key(|object| object.json().len())
    }

    /// Returns the uid of the object in a cache that follows the server.
    pub(in crate::cluster) fn uid(&self) -> Option<Box<str>> {
        let complete = self.watches.iter().filter(|watch| watch.is_complete());
        let mut cached = complete.filter_map(|watch| watch.get(Some(&self.key.0), &self.key.1));
        cached.next().map(|object| object.uid.clone())
    }

    /// Ends the write with its answer: updates the caches, and notifies listeners of deferred foreign
    /// changes.
    pub(in crate::cluster) fn finish(mut self, answer: &WriteResult) {
        self.end(answer);
    }

    fn end(&mut self, answer: &WriteResult) {
        for watch in self.watches.drain(..) {
            let changes = watch
                .store
                .lock()
                .write_ends(&self.key, &watch.spec, answer);
            self.listeners.notify(&watch, changes);
        }
    }
}

/// Ends a cancelled write. The server may have executed it, so its events count as foreign.
impl Drop for WriteGuard {
    fn drop(&mut self) {
        self.end(&WriteResult::Nothing);
    }
}
