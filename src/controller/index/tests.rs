//! Tests of the index.

use serde_json::{Value, json};

use super::super::{Queue, RunRate};
use super::*;
use crate::backoff::Backoff;
use crate::cluster::watch::Subscription;
use crate::model::field_selector::FieldSelector;
use crate::telemetry::Metrics;

fn mk_object(kind: &str, metadata: &Value) -> Object {
    let whole = json!({"metadata": metadata, "spec": {}});
    Object::from_value(&Gvk::new("g", "v1", kind), &whole).unwrap()
}

fn mk_cr(name: &str, uid: &str, generation: i64) -> Object {
    let metadata = json!({"name": name, "namespace": "ns", "uid": uid, "generation": generation});
    mk_object("Cr", &metadata)
}

fn mk_key(name: &str) -> Key {
    let queue = Queue::new(1, Backoff::RECONCILE, RunRate::default());
    Key {
        kind: queue.add_kind(1, Metrics::default().controller("cr")),
        namespace: Some("ns".into()),
        name: name.into(),
    }
}

fn observe(index: &mut Index, cr: &Object) -> ObservedChange {
    let state = TriggerState::new(cr, false);
    index.observe(&mk_key(&cr.name), cr, state).0
}

fn mk_index(names: &[&str]) -> Index {
    let mut index = Index::default();
    for name in names {
        let change = observe(&mut index, &mk_cr(name, name, 1));
        assert_eq!(change, ObservedChange::New);
    }
    index
}

fn mk_report(name: &str, reads: ReadSet) -> Report {
    let mut report = Report::new(Outcome::Done, &Arc::new(mk_cr(name, name, 1)));
    report.effects.reads = reads;
    report.status_digest = 7;
    report
}

fn finish(index: &mut Index, name: &str, reads: ReadSet) {
    drop(index.finish(&mk_key(name), &mk_report(name, reads)));
}

fn mk_objects(objects: &[&Arc<Object>]) -> ReadSet {
    let mut reads = ReadSet::default();
    for object in objects {
        reads.add_object(object.object_ref(), None, Subscription::permanent());
    }
    reads
}

fn mk_list(labels: &str) -> ReadSet {
    let query = ListQuery {
        gvk: Gvk::new("g", "v1", "Pod"),
        namespace: Some("ns".into()),
        labels: labels.parse().unwrap(),
        fields: FieldSelector::default(),
    };
    let mut reads = ReadSet::default();
    reads.add_list(query, 0, Subscription::permanent());
    reads
}

fn mk_pod(name: &str, labels: &Value) -> Arc<Object> {
    let metadata = json!({"name": name, "namespace": "ns", "labels": labels});
    Arc::new(mk_object("Pod", &metadata))
}

fn subscribers(index: &Index, old: Option<&Arc<Object>>, new: Option<&Arc<Object>>) -> Vec<String> {
    let change = ObjectChange {
        old: old.cloned(),
        new: new.cloned(),
    };
    let object = old.or(new).unwrap().object_ref();
    let keys = index.subscribers(&object, &change);
    keys.iter().map(|key| key.name.to_string()).collect()
}

#[test]
fn a_version_is_new_changed_or_another_object() {
    let mut index = mk_index(&["a"]);
    let unchanged = ObservedChange::Unchanged { has_status: false };
    assert_eq!(observe(&mut index, &mk_cr("a", "a", 1)), unchanged);
    let newer = mk_cr("a", "a", 2);
    assert_eq!(observe(&mut index, &newer), ObservedChange::Generation);
    let other = mk_cr("a", "other", 2);
    assert_eq!(observe(&mut index, &other), ObservedChange::Replaced);
    assert!(index.owner("a").is_none(), "the former object owns nothing");
    assert_eq!(index.owner("other"), Some(&mk_key("a")));
}

#[test]
fn a_status_is_drift_once_a_run_has_left_one() {
    let mut index = mk_index(&["a"]);
    let (cr, key) = (mk_cr("a", "a", 1), mk_key("a"));
    assert!(!index.is_status_drift(&key, "a", 1));
    finish(&mut index, "a", ReadSet::default());
    let unchanged = ObservedChange::Unchanged { has_status: true };
    assert_eq!(observe(&mut index, &cr), unchanged);
    assert!(!index.is_status_drift(&key, "a", 7));
    assert!(index.is_status_drift(&key, "a", 8));
    assert!(!index.is_status_drift(&key, "other", 8));
}

#[test]
fn subscribers_of_an_object_hear_of_it_until_they_read_something_else() {
    let mut index = mk_index(&["a", "b"]);
    let pod = mk_pod("p", &json!({}));
    finish(&mut index, "a", mk_objects(&[&pod]));
    finish(&mut index, "b", mk_objects(&[&pod]));
    assert_eq!(subscribers(&index, None, Some(&pod)), ["a", "b"]);
    finish(&mut index, "a", ReadSet::default());
    assert_eq!(subscribers(&index, Some(&pod), None), ["b"]);
    assert!(index.remove(&mk_key("b")).is_some());
    assert!(subscribers(&index, Some(&pod), None).is_empty());
    assert!(index.subscribers.is_empty(), "nothing is left behind");
}

#[test]
fn subscribers_of_a_list_hear_of_members_that_come_change_and_go() {
    let mut index = mk_index(&["a"]);
    finish(&mut index, "a", mk_list("app=x"));
    let (member, other) = (mk_pod("p", &json!({"app": "x"})), mk_pod("p", &json!({})));
    assert_eq!(subscribers(&index, None, Some(&member)), ["a"]);
    assert_eq!(subscribers(&index, Some(&member), Some(&other)), ["a"]);
    assert!(subscribers(&index, Some(&other), None).is_empty());
}

#[test]
fn a_cancelled_run_keeps_what_the_run_before_read() {
    let mut index = mk_index(&["a"]);
    let (first, second) = (mk_pod("p", &json!({})), mk_pod("q", &json!({})));
    finish(&mut index, "a", mk_objects(&[&first]));
    let mut report = mk_report("a", mk_objects(&[&second]));
    report.outcome = Outcome::Cancelled;
    drop(index.finish(&mk_key("a"), &report));
    for pod in [&first, &second] {
        assert_eq!(subscribers(&index, None, Some(pod)), ["a"]);
    }
}

#[test]
fn a_scope_has_those_that_read_in_its_namespace() {
    let mut index = mk_index(&["a", "b", "c"]);
    finish(&mut index, "a", mk_objects(&[&mk_pod("p", &json!({}))]));
    finish(&mut index, "b", mk_list("app=x"));
    let scope = |kind: &str, namespace: Option<&str>| Scope {
        gvk: Gvk::new("g", "v1", kind),
        namespace: namespace.map(Into::into),
    };
    let names = |scope: &Scope| {
        let subscribers = index.scope_subscribers(scope).into_iter();
        let mut names: Vec<_> = subscribers.map(|(key, _)| key.name.to_string()).collect();
        names.sort();
        names
    };
    assert_eq!(names(&scope("Pod", None)), ["a", "b"]);
    assert_eq!(names(&scope("Pod", Some("ns"))), ["a", "b"]);
    assert!(names(&scope("Pod", Some("other"))).is_empty());
    assert!(names(&scope("Secret", None)).is_empty());
}

#[test]
fn the_awaited_object_resumes_a_run() {
    let mut index = mk_index(&["a"]);
    let pod = mk_pod("p", &json!({})).object_ref();
    let mut report = mk_report("a", ReadSet::default());
    report.waits = [pod.clone()].into();
    drop(index.finish(&mk_key("a"), &report));
    let reason = |object| index.reason(&mk_key("a"), object, Reason::Child);
    assert_eq!(reason(&pod), Reason::Resumed);
    let other = mk_pod("q", &json!({})).object_ref();
    assert_eq!(reason(&other), Reason::Child);
}
