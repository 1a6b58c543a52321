//! What is remembered of each CR between its runs, and who is to hear of a change.
//!
//! A child names its CR by the owner label, so children need no entries here; only what a run *read* is
//! indexed, by object and by list.

use std::collections::HashMap;
use std::sync::Arc;

use super::change_predicate::TriggerState;
use super::loop_detector::Detector;
use super::queue::Key;
use crate::cluster::request::ListQuery;
use crate::cluster::watch::ObjectChange;
use crate::model::{Gvk, Object, ObjectRef, Reason};
use crate::reconcile::{History, Report, Subscription};

/// All CRs that are served.
#[derive(Debug, Default)]
pub(super) struct Index {
    entries: HashMap<Key, Entry>,
    owners: HashMap<Box<str>, Key>,
    readers: HashMap<ObjectRef, Vec<Key>>,
    list_readers: HashMap<Gvk, Vec<(ListQuery, Key)>>,
}

/// One CR.
#[derive(Debug)]
pub(super) struct Entry {
    uid: Box<str>,
    state: TriggerState,
    /// Digest of our part of its status, once a run has left one.
    status: Option<u64>,
    history: Arc<History>,
    reads: Box<[Subscription]>,
    waits: Box<[ObjectRef]>,
    /// Only while there are recent writes: a steady CR has none.
    pub(super) conflict: Option<Box<ConflictTracker>>,
}

/// What may become a fight over a child.
#[derive(Debug, Default)]
pub(super) struct ConflictTracker {
    pub(super) detector: Detector,
    /// What we lost last.
    pub(super) loss: Option<LostField>,
}

/// A field of a child that another manager took.
#[derive(Clone, Debug)]
pub(super) struct LostField {
    pub(super) child: ObjectRef,
    pub(super) field: String,
    /// The other managers of the child at that time, once looked up.
    pub(super) managers: Vec<String>,
}

/// What a version of a CR means for the queue.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum ObservedChange {
    /// It was not known.
    New,
    /// Another object had its name.
    Replaced,
    /// It changed in a way that counts.
    Changed(Reason),
    /// It has a new generation.
    Generation,
    /// Nothing that counts changed.
    Unchanged,
}

impl Index {
    /// Takes note of a version of a CR; `digest` is that of its status.
    pub(super) fn observe(
        &mut self,
        key: &Key,
        object: &Object,
        state: TriggerState,
        digest: impl FnOnce() -> u64,
    ) -> ObservedChange {
        let Some(entry) = self.entries.get_mut(key) else {
            self.insert(key, object, state);
            return ObservedChange::New;
        };
        if entry.uid != object.uid {
            self.remove(key);
            self.insert(key, object, state);
            return ObservedChange::Replaced;
        }
        let old = std::mem::replace(&mut entry.state, state);
        match old.reason(&state) {
            Some(Reason::Changed) if old.is_other_generation(&state) => {
                return ObservedChange::Generation;
            }
            Some(reason) => return ObservedChange::Changed(reason),
            None => {}
        }
        match entry.status {
            Some(status) if digest() != status => ObservedChange::Changed(Reason::Child),
            _ => ObservedChange::Unchanged,
        }
    }

    fn insert(&mut self, key: &Key, object: &Object, state: TriggerState) {
        self.owners.insert(object.uid.clone(), key.clone());
        let entry = Entry {
            uid: object.uid.clone(),
            state,
            status: None,
            history: Arc::default(),
            reads: Box::default(),
            waits: Box::default(),
            conflict: None,
        };
        self.entries.insert(key.clone(), entry);
    }

    /// Forgets a CR.
    pub(super) fn remove(&mut self, key: &Key) {
        if let Some(entry) = self.entries.remove(key) {
            self.owners.remove(&entry.uid);
            self.unsubscribe(key, &entry.reads);
        }
    }

    /// A run of a version begins; what the last one left.
    pub(super) fn start(&mut self, key: &Key, state: TriggerState) -> Option<Arc<History>> {
        let entry = self.entries.get_mut(key)?;
        entry.state = state;
        Some(Arc::clone(&entry.history))
    }

    /// A run is over: what it read is subscribed to.
    pub(super) fn finish(&mut self, key: &Key, report: &Report) {
        let Some(entry) = self.entries.get_mut(key) else {
            return;
        };
        entry.history = Arc::clone(&report.history);
        entry.status = Some(report.status_digest);
        entry.waits = report.waits.iter().cloned().collect();
        if same_subscriptions(&entry.reads, &report.effects.reads) {
            return;
        }
        let former = std::mem::replace(&mut entry.reads, report.effects.reads.clone().into());
        self.unsubscribe(key, &former);
        self.subscribe(key, &report.effects.reads);
    }

    pub(super) fn entry(&mut self, key: &Key) -> Option<&mut Entry> {
        self.entries.get_mut(key)
    }

    /// The CR with this uid.
    pub(super) fn owner(&self, uid: &str) -> Option<&Key> {
        self.owners.get(uid)
    }

    /// All CRs of the kinds that `select` takes.
    pub(super) fn keys(&self, select: impl Fn(&Key) -> bool) -> Vec<Key> {
        self.entries
            .keys()
            .filter(|key| select(key))
            .cloned()
            .collect()
    }

    /// Why a CR hears of a change of an object: it waits for it, or else `otherwise`.
    pub(super) fn reason(&self, key: &Key, object: &ObjectRef, otherwise: Reason) -> Reason {
        let waits = self
            .entries
            .get(key)
            .is_some_and(|entry| entry.waits.contains(object));
        if waits { Reason::Resumed } else { otherwise }
    }

    /// CRs whose last run read what changed.
    pub(super) fn readers(&self, object: &ObjectRef, change: &ObjectChange) -> Vec<Key> {
        let mut keys = self.readers.get(object).cloned().unwrap_or_default();
        let queries = self.list_readers.get(&object.gvk).into_iter().flatten();
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

    fn subscribe(&mut self, key: &Key, reads: &[Subscription]) {
        for read in reads {
            match read {
                Subscription::Object(object, _) => {
                    self.readers
                        .entry(object.clone())
                        .or_default()
                        .push(key.clone());
                }
                Subscription::List(query, _) => {
                    let readers = self.list_readers.entry(query.gvk.clone()).or_default();
                    readers.push((query.clone(), key.clone()));
                }
            }
        }
    }

    fn unsubscribe(&mut self, key: &Key, reads: &[Subscription]) {
        for read in reads {
            match read {
                Subscription::Object(object, _) => {
                    retain(&mut self.readers, object, |reader| reader != key);
                }
                Subscription::List(query, _) => {
                    retain(&mut self.list_readers, &query.gvk, |(_, reader)| {
                        reader != key
                    });
                }
            }
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

/// Returns whether both name the same objects and lists, whatever their versions.
fn same_subscriptions(old: &[Subscription], new: &[Subscription]) -> bool {
    old.len() == new.len()
        && old.iter().zip(new).all(|pair| match pair {
            (Subscription::Object(old, _), Subscription::Object(new, _)) => old == new,
            (Subscription::List(old, _), Subscription::List(new, _)) => old == new,
            _ => false,
        })
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
mod tests {
    use super::*;
    use crate::model::field_selector::FieldSelector;
    use serde_json::{Value, json};

    fn mk_object(kind: &str, metadata: &Value) -> Object {
        let whole = json!({"metadata": metadata, "spec": {}});
        Object::from_value(&Gvk::new("g", "v1", kind), &whole).unwrap()
    }

    fn mk_cr(name: &str, uid: &str, generation: i64) -> Object {
        let metadata =
            json!({"name": name, "namespace": "ns", "uid": uid, "generation": generation});
        mk_object("Cr", &metadata)
    }

    fn mk_key(name: &str) -> Key {
        use super::super::RunRate;
        use crate::backoff::Backoff;
        use crate::telemetry::Metrics;
        let queue = super::super::Queue::new(1, Backoff::RECONCILE, RunRate::default());
        Key {
            kind: queue.add_kind(1, Metrics::default().controller("cr")),
            namespace: Some("ns".into()),
            name: name.into(),
        }
    }

    fn observe(index: &mut Index, cr: &Object, digest: u64) -> ObservedChange {
        index.observe(&mk_key(&cr.name), cr, TriggerState::new(cr, false), || {
            digest
        })
    }

    fn mk_index(names: &[&str]) -> Index {
        let mut index = Index::default();
        for name in names {
            assert_eq!(
                observe(&mut index, &mk_cr(name, name, 1), 0),
                ObservedChange::New
            );
        }
        index
    }

    fn reads(index: &mut Index, name: &str, reads: Vec<Subscription>) {
        let mut report = Report::new(crate::model::Outcome::Done, &Arc::new(mk_cr(name, name, 1)));
        report.effects.reads = reads;
        report.status_digest = 7;
        index.finish(&mk_key(name), &report);
    }

    fn mk_list(labels: &str) -> Subscription {
        let query = ListQuery {
            gvk: Gvk::new("g", "v1", "Pod"),
            namespace: Some("ns".into()),
            labels: labels.parse().unwrap(),
            fields: FieldSelector::default(),
        };
        Subscription::List(query, 0)
    }

    fn mk_pod(name: &str, labels: &Value) -> Arc<Object> {
        let metadata = json!({"name": name, "namespace": "ns", "labels": labels});
        Arc::new(mk_object("Pod", &metadata))
    }

    fn readers(index: &Index, old: Option<&Arc<Object>>, new: Option<&Arc<Object>>) -> Vec<String> {
        let change = ObjectChange {
            old: old.cloned(),
            new: new.cloned(),
        };
        let object = old.or(new).unwrap().object_ref();
        let keys = index.readers(&object, &change);
        keys.iter().map(|key| key.name.to_string()).collect()
    }

    #[test]
    fn a_version_is_new_changed_or_another_object() {
        let mut index = mk_index(&["a"]);
        assert_eq!(
            observe(&mut index, &mk_cr("a", "a", 1), 0),
            ObservedChange::Unchanged
        );
        assert_eq!(
            observe(&mut index, &mk_cr("a", "a", 2), 0),
            ObservedChange::Generation
        );
        assert_eq!(
            observe(&mut index, &mk_cr("a", "other", 2), 0),
            ObservedChange::Replaced
        );
        assert!(index.owner("a").is_none(), "the former object owns nothing");
        assert_eq!(index.owner("other"), Some(&mk_key("a")));
    }

    #[test]
    fn a_status_is_drift_once_a_run_has_left_one() {
        let mut index = mk_index(&["a"]);
        let cr = mk_cr("a", "a", 1);
        assert_eq!(observe(&mut index, &cr, 1), ObservedChange::Unchanged);
        reads(&mut index, "a", Vec::new());
        assert_eq!(observe(&mut index, &cr, 7), ObservedChange::Unchanged);
        assert_eq!(
            observe(&mut index, &cr, 8),
            ObservedChange::Changed(Reason::Child)
        );
    }

    #[test]
    fn readers_of_an_object_hear_of_it_until_they_read_something_else() {
        let mut index = mk_index(&["a", "b"]);
        let pod = mk_pod("p", &json!({}));
        let read = Subscription::Object(pod.object_ref(), None);
        reads(&mut index, "a", vec![read.clone()]);
        reads(&mut index, "b", vec![read]);
        assert_eq!(readers(&index, None, Some(&pod)), ["a", "b"]);
        reads(&mut index, "a", Vec::new());
        assert_eq!(readers(&index, Some(&pod), None), ["b"]);
        index.remove(&mk_key("b"));
        assert!(readers(&index, Some(&pod), None).is_empty());
        assert!(index.readers.is_empty(), "nothing is left behind");
    }

    #[test]
    fn readers_of_a_list_hear_of_members_that_come_change_and_go() {
        let mut index = mk_index(&["a"]);
        reads(&mut index, "a", vec![mk_list("app=x")]);
        let (member, other) = (mk_pod("p", &json!({"app": "x"})), mk_pod("p", &json!({})));
        assert_eq!(readers(&index, None, Some(&member)), ["a"]);
        assert_eq!(readers(&index, Some(&member), Some(&other)), ["a"]);
        assert!(readers(&index, Some(&other), None).is_empty());
    }

    #[test]
    fn what_a_run_waits_for_resumes_it() {
        let mut index = mk_index(&["a"]);
        let pod = mk_pod("p", &json!({})).object_ref();
        let mut report = Report::new(crate::model::Outcome::Done, &Arc::new(mk_cr("a", "a", 1)));
        report.waits = [pod.clone()].into();
        index.finish(&mk_key("a"), &report);
        assert_eq!(
            index.reason(&mk_key("a"), &pod, Reason::Child),
            Reason::Resumed
        );
        let other = mk_pod("q", &json!({})).object_ref();
        assert_eq!(
            index.reason(&mk_key("a"), &other, Reason::Child),
            Reason::Child
        );
    }
}
