//! The custom resources that are served: what is remembered of each between its runs, and which of them
//! depend on an object.
//!
//! A child names its custom resource by the owner label, so children need no entries here. Only what a run
//! read is indexed, by object and by list.

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

/// All custom resources that are served. All workers share it under one lock: no method parses an object.
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
    /// The digest of our part of its status, once a run has written one.
    status: Option<u64>,
    history: Arc<History>,
    reads: Arc<ReadSet>,
    waits: Box<[ObjectRef]>,
    /// Only while there are recent writes: a steady custom resource has none.
    pub(super) conflict: Option<Box<ConflictTracker>>,
}

/// The recent writes to the children of a custom resource.
#[derive(Debug, Default)]
pub(super) struct ConflictTracker {
    pub(super) detector: Detector,
    /// The field that was lost last.
    pub(super) loss: Option<LostField>,
}

/// A field of a child that another manager took.
#[derive(Clone, Debug)]
pub(super) struct LostField {
    pub(super) child: ObjectRef,
    pub(super) field: String,
    /// The other managers of the child at that time, once they were asked for.
    pub(super) managers: Vec<String>,
}

/// The meaning of a version of a custom resource for the queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ObservedChange {
    /// It was not known.
    New,
    /// Another object had its name.
    Replaced,
    /// It changed in a way that triggers a run.
    Changed(Reason),
    /// It has a new generation.
    Generation,
    /// The change does not trigger a run, unless it is drift of the status.
    Unchanged {
        /// True if a run has written a status, with which the caller compares this one
        /// ([`Index::is_status_drift`]).
        has_status: bool,
    },
}

impl Index {
    /// Takes note of a version of a custom resource.
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

    /// Returns whether a status with this digest is another one than the last run left.
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

    /// Forgets a custom resource. Returns its read set, to be dropped when the lock is released: watches
    /// that nothing else needs close then.
    #[must_use]
    pub(super) fn remove(&mut self, key: &Key) -> Option<Arc<ReadSet>> {
        let entry = self.entries.remove(key)?;
        self.owners.remove(&entry.uid);
        self.unsubscribe(key, &entry.reads);
        Some(entry.reads)
    }

    /// Takes note of the version that a run begins with. Returns what the last run left.
    pub(super) fn start(&mut self, key: &Key, state: TriggerState) -> Option<Arc<History>> {
        let entry = self.entries.get_mut(key)?;
        entry.state = state;
        Some(Arc::clone(&entry.history))
    }

    /// Takes note of a run's end and subscribes the custom resource to what it read. Returns the former
    /// read set, to be dropped when the lock is released, as with [`Index::remove`].
    #[must_use]
    pub(super) fn finish(&mut self, key: &Key, report: &Report) -> Option<Arc<ReadSet>> {
        let entry = self.entries.get_mut(key)?;
        entry.history = Arc::clone(&report.history);
        entry.status = Some(report.status_digest);
        entry.waits = report.waits.iter().cloned().collect();
        let mut reads = report.effects.reads.clone();
        if matches!(report.outcome, Outcome::Cancelled) {
            // The run did not come to all that it depends on.
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

    /// Returns all custom resources that `select` takes.
    pub(super) fn keys(&self, select: impl Fn(&Key) -> bool) -> Vec<Key> {
        self.entries
            .keys()
            .filter(|key| select(key))
            .cloned()
            .collect()
    }

    /// Returns why a change of an object triggers a run of a custom resource: the last run waits for the
    /// object, or else `otherwise`.
    pub(super) fn reason(&self, key: &Key, object: &ObjectRef, otherwise: Reason) -> Reason {
        let waits = self
            .entries
            .get(key)
            .is_some_and(|entry| entry.waits.contains(object));
        if waits { Reason::Resumed } else { otherwise }
    }

    /// Returns the custom resources whose last run read what changed.
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

    /// Returns the custom resources whose last run read anything in a scope, with all that it read.
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
