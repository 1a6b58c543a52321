//! The objects of one resource and its most recent events.
//!
//! To get an earlier state, the table undoes the later events. A watch is a cursor into the events. So
//! watches add no cost to a write, and a slow watcher blocks no one: it gets a 410 when the table has
//! discarded events that it has not read.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Bound;
use std::sync::Arc;

use serde_json::Value;
use tokio::sync::watch;

use super::{Change, Event, Key};

/// The objects of one resource.
#[derive(Debug)]
pub struct ResourceTable {
    pub(super) objects: BTreeMap<Key, Arc<Value>>,
    history: VecDeque<Arc<Event>>,
    capacity: usize,
    /// `history` contains all events after this revision.
    since: u64,
    changed: watch::Sender<u64>,
}

/// The error for a revision whose events are discarded.
#[derive(Debug, PartialEq, Eq)]
pub struct Expired {
    /// The oldest revision that the table can serve.
    pub oldest: u64,
}

/// A subscription that wakes a watcher when its table changes or is removed.
#[derive(Debug)]
pub struct Subscription(watch::Receiver<u64>);

impl Subscription {
    /// Waits for a write of the resource. Returns false when the server no longer serves the resource.
    pub async fn changed(&mut self) -> bool {
        self.0.changed().await.is_ok()
    }
}

impl ResourceTable {
    pub(super) fn new(capacity: usize, since: u64) -> Self {
        Self {
            objects: BTreeMap::new(),
            history: VecDeque::new(),
            capacity,
            since,
            changed: watch::Sender::new(since),
        }
    }

    /// Returns an object.
    pub fn get(&self, key: &Key) -> Option<&Arc<Value>> {
        self.objects.get(key)
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.objects.len()
    }

    /// Returns whether the table has no objects.
    pub fn is_empty(&self) -> bool {
        self.objects.is_empty()
    }

    /// Returns the objects of a namespace, or all objects.
    pub fn list<'a>(
        &'a self,
        namespace: Option<&str>,
    ) -> impl Iterator<Item = (&'a Key, &'a Arc<Value>)> + use<'a> {
        let prefix = namespace.map(|namespace| format!("{namespace}/"));
        let from = Key::from_text(prefix.as_deref().unwrap_or_default());
        self.objects
            .range((Bound::Included(from), Bound::Unbounded))
            .take_while(move |(key, _)| {
                prefix
                    .as_deref()
                    .is_none_or(|prefix| key.as_str().starts_with(prefix))
            })
    }

    /// Returns the objects as they were at a revision.
    pub fn list_at(
        &self,
        namespace: Option<&str>,
        revision: u64,
    ) -> Result<Vec<(Key, Arc<Value>)>, Expired> {
        if revision < self.since {
            return Err(Expired { oldest: self.since });
        }
        // The oldest undone event of a key has the object's state at the revision.
        let mut past: BTreeMap<&Key, Option<&Arc<Value>>> = BTreeMap::new();
        for event in self.history.iter().rev() {
            if event.revision <= revision {
                break;
            }
            past.insert(&event.key, event.previous.as_ref());
        }
        let unchanged = self
            .list(namespace)
            .filter(|(key, _)| !past.contains_key(key))
            .map(|(key, object)| (key.clone(), Arc::clone(object)));
        let mut items: Vec<_> = unchanged.collect();
        if !past.is_empty() {
            let fits = |key: &Key| namespace.is_none_or(|namespace| key.namespace() == namespace);
            let undone = past.into_iter().filter(|(key, _)| fits(key));
            items.extend(undone.filter_map(|(key, was)| Some((key.clone(), Arc::clone(was?)))));
            items.sort_by(|(a, _), (b, _)| a.cmp(b));
        }
        Ok(items)
    }

    /// Returns the events after a revision.
    pub fn events_after(&self, revision: u64) -> Result<Vec<Arc<Event>>, Expired> {
        if revision < self.since {
            return Err(Expired { oldest: self.since });
        }
        let from = self.history.partition_point(|e| e.revision <= revision);
        Ok(self.history.range(from..).map(Arc::clone).collect())
    }

    /// Returns the oldest revision after which all events are in the history.
    pub fn oldest(&self) -> u64 {
        self.since
    }

    /// Returns a subscription to the writes from now on.
    pub fn subscribe(&self) -> Subscription {
        Subscription(self.changed.subscribe())
    }

    /// Discards all events. A watch can start no earlier than this revision.
    pub(super) fn forget(&mut self, revision: u64) {
        self.history.clear();
        self.since = revision;
    }

    /// Ends all current subscriptions.
    pub(super) fn end_watches(&mut self) {
        self.changed = watch::Sender::new(self.since);
    }

    /// Appends an event to the history, discards the oldest one if the history is full, and wakes the
    /// watchers.
    pub(super) fn record(&mut self, event: Arc<Event>) {
        let revision = event.revision;
        debug_assert!(event.change != Change::Deleted || !self.objects.contains_key(&event.key));
        self.history.push_back(event);
        while self.history.len() > self.capacity {
            if let Some(forgotten) = self.history.pop_front() {
                self.since = forgotten.revision;
            }
        }
        self.changed.send_replace(revision);
    }
}
