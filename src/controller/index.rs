//! The custom resources that the operator serves: their state between runs, and their dependencies on
//! objects.
//!
//! The owner label of a child names its custom resource, so children need no entries. The index contains
//! the objects and lists that runs read.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::change_predicate::TriggerState;
use super::loop_detector::Detector;
use super::queue::Key;
use crate::cluster::ReadSet;
use crate::cluster::request::ListQuery;
use crate::cluster::watch::{ObjectChange, Scope};
use crate::model::{Gvk, Object, ObjectRef, Outcome, Reason};
use crate::reconcile::{History, Report};

/// All custom resources that the operator serves. All workers share it under one lock, so no method parses
/// an object.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: HashMap<Key, Entry>,
    owners: HashMap<Box<str>, Key>,
    subscribers: HashMap<ObjectRef, Vec<Key>>,
    list_subscribers: HashMap<Gvk, Vec<(ListQuery, Key)>>,
}

/// A custom resource.
#[derive(Debug)]
pub(super) struct Entry {
    uid: Box<str>,
    state: TriggerState,
    /// The digest of the runtime's part of its status, after a run wrote one.
    status: Option<u64>,
    history: Arc<History>,
    reads: Arc<ReadSet>,
    waits: Box<[ObjectRef]>,
    /// Present only while there are recent writes.
    pub(super) conflict: Option<Box<ConflictTracker>>,
}

/// The recent writes to the children of a custom resource.
#[derive(Debug, Default)]
pub(super) struct ConflictTracker {
    pub(super) detector: Detector,
    /// The last field that another manager took.
    pub(super) loss: Option<LostField>,
}

/// A field of a child that another manager took.
#[derive(Clone, Debug)]
pub(super) struct LostField {
    pub(super) child: ObjectRef,
    pub(super) field: String,
    /// The other managers of the child at that time, if they were requested.
    pub(super) managers: Vec<String>,
}

/// The meaning of a version of a custom resource for the queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ObservedChange {
    /// The custom resource is new.
    New,
    /// The object replaces another one of the same name.
    Replaced,
    /// It changed in a way that triggers a run.
    Changed(Reason),
    /// It has a new generation.
    Generation,
    /// The change does not trigger a run, unless it is drift of the status.
    Unchanged {
        /// True if a run wrote a status. The caller then compares it with this one
        /// ([`Index::is_status_drift`]).
        has_status: bool,
    },
}

impl Index {
    /// Records a version of a custom resource.
    pub(super) fn observe(
        &mut self,
        key: &Key,
        object: &Object,
        state: TriggerState,
    ) -> (ObservedChange, Option<Arc<ReadSet>>) {
        let Some(entry) = self.entries.get_mut(key) else {
            self.insert(key, object, state);
            return (ObservedChange::New, None);
        };
        if entry.uid != object.uid {
            let former = self.remove(key);
            self.insert(key, object, state);
            return (ObservedChange::Replaced, former);
        }
        let old = std::mem::replace(&mut entry.state, state);
        let change = match old.reason(&state) {
            Some(Reason::Changed) if old.is_other_generation(&state) => ObservedChange::Generation,
            Some(reason) => ObservedChange::Changed(reason),
            None => ObservedChange::Unchanged {
                has_status: entry.status.is_some(),
            },
        };
        (change, None)
    }

    /// Returns whether a status with this digest differs from the one of the last run.
    pub(super) fn is_status_drift(&self, key: &Key, uid: &str, digest: u64) -> bool {
        let entry = self.entries.get(key).filter(|entry| *entry.uid == *uid);
        entry.is_some_and(|entry| entry.status.is_some_and(|status| status != digest))
    }

    fn insert(&mut self, key: &Key, object: &Object, state: TriggerState) {
        self.owners.insert(object.uid.clone(), key.clone());
        let entry = Entry {
            uid: object.uid.clone(),
            state,
            status: None,
            history: Arc::default(),
            reads: Arc::default(),
            waits: Box::default(),
            conflict: None,
        };
        self.entries.insert(key.clone(), entry);
    }

    /// Removes a custom resource. Returns its read set, which the caller drops after it released the lock:
    /// watches without other subscriptions close then.
    #[must_use]
    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<ReadSet>> {
        let entry = self.entries.remove(key)?;
        self.owners.remove(&entry.uid);
        self.unsubscribe(key, &entry.reads);
        Some(entry.reads)
    }

    /// Records the version with which a run begins. Returns the state from the last run.
    pub(super) fn start(&mut self, key: &Key, state: TriggerState) -> Option<Arc<History>> {
        let entry = self.entries.get_mut(key)?;
        entry.state = state;
        Some(Arc::clone(&entry.history))
    }

    /// Records the end of a run, and subscribes the custom resource to the objects that it read. Returns
    /// the former read set, which the caller drops after it released the lock, as with [`Index::remove`].
    #[must_use]
    pub(super) fn finish(&mut self, key: &Key, report: &Report) -> Option<Arc<ReadSet>> {
        let entry = self.entries.get_mut(key)?;
        entry.history = Arc::clone(&report.history);
        entry.status = Some(report.status_digest);
        entry.waits = report.waits.iter().cloned().collect();
        let mut reads = report.effects.reads.clone();
        if matches!(report.outcome, Outcome::Cancelled) {
            // The run ended before it read all its dependencies.
            reads.extend(&entry.reads);
        }
        let is_same = entry.reads.has_same_members(&reads);
        let reads = Arc::new(reads);
        let former = std::mem::replace(&mut entry.reads, Arc::clone(&reads));
        if !is_same {
            self.unsubscribe(key, &former);
            self.subscribe(key, &reads);
        }
        Some(former)
    }

    pub(super) fn entry(&self, key: &Key) -> Option<&Entry> {
        self.entries.get(key)
    }

    pub(super) fn entry_mut(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// Returns the custom resource with this uid.
    pub(super) fn owner(&self, uid: &str) -> Option<&Key> {
        self.owners.get(uid)
    }

    /// Returns all custom resources that `select` selects.
    pub(super) fn keys(&self, select: impl Fn(&Key) -> bool) -> Vec<Key> {
        self.entries
            .keys()
            .filter(|key| select(key))
            .cloned()
            .collect()
    }

    /// Returns the reason for which a change of an object triggers a run of a custom resource: that the
    /// last run waits for the object, or `otherwise`.
    pub(super) fn reason(&self, key: &Key, object: &ObjectRef, otherwise: Reason) -> Reason {
        let waits = self
            .entries
            .get(key)
            .is_some_and(|entry| entry.waits.contains(object));
        if waits { Reason::Resumed } else { otherwise }
    }

    /// Returns the custom resources whose last run read the changed object, or a list that contains it.
    pub(super) fn subscribers(&self, object: &ObjectRef, change: &ObjectChange) -> Vec<Key> {
        let mut keys = self.subscribers.get(object).cloned().unwrap_or_default();
        let queries = self.list_subscribers.get(&object.gvk).into_iter().flatten();
        let matching = queries.filter(|(query, _)| {
            let versions = [&change.old, &change.new];
            versions
                .into_iter()
                .flatten()
                .any(|version| selects(query, version))
        });
        keys.extend(matching.map(|(_, key)| key.clone()));
        keys
    }

    /// Returns the custom resources whose last run read in a scope, with their read sets.
    pub(super) fn scope_subscribers(&self, scope: &Scope) -> Vec<(Key, Arc<ReadSet>)> {
        let is_within = |namespace: Option<&str>| {
            let within = scope.namespace.as_deref();
            within.is_none() || namespace.is_none() || namespace == within
        };
        let objects = self.subscribers.iter();
        let objects = objects
            .filter(|(object, _)| object.gvk == scope.gvk && is_within(object.namespace.as_deref()))
            .flat_map(|(_, keys)| keys);
        let lists = self.list_subscribers.get(&scope.gvk).into_iter().flatten();
        let lists = lists
            .filter(|(query, _)| is_within(query.namespace.as_deref()))
            .map(|(_, key)| key);
        let keys: HashSet<&Key> = objects.chain(lists).collect();
        keys.into_iter()
            .filter_map(|key| Some((key.clone(), Arc::clone(&self.entries.get(key)?.reads))))
            .collect()
    }

    fn subscribe(&mut self, key: &Key, reads: &ReadSet) {
        for (object, _) in reads.objects() {
            let subscribers = self.subscribers.entry(object.clone()).or_default();
            subscribers.push(key.clone());
        }
        for (query, _) in reads.lists() {
            let subscribers = self.list_subscribers.entry(query.gvk.clone()).or_default();
            subscribers.push((query.clone(), key.clone()));
        }
    }

    fn unsubscribe(&mut self, key: &Key, reads: &ReadSet) {
        for (object, _) in reads.objects() {
            retain(&mut self.subscribers, object, |subscriber| {
                subscriber != key
            });
        }
        for (query, _) in reads.lists() {
            retain(&mut self.list_subscribers, &query.gvk, |(_, subscriber)| {
                subscriber != key
            });
        }
    }
}

fn retain<K: std::hash::Hash + Eq, V>(
    map: &mut HashMap<K, Vec<V>>,
    key: &K,
    keep: impl FnMut(&V) -> bool,
) {
    if let Some(values) = map.get_mut(key) {
        values.retain(keep);
        if values.is_empty() {
            map.remove(key);
        }
    }
}

fn selects(query: &ListQuery, object: &Object) -> bool {
    let namespace = object.namespace.as_deref();
    query
        .namespace
        .as_deref()
        .is_none_or(|wanted| namespace == Some(wanted))
        && query.labels.matches(|key| object.label(key))
        && query
            .fields
            .matches(namespace.unwrap_or_default(), &object.name)
            .unwrap_or(true)
}

#[cfg(test)]
mod tests;
