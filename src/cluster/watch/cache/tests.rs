//! The cache against every order in which events, answers and lists can come.

use std::collections::VecDeque;

use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::cluster::watch::{Content, Purpose, WatchSpec};
use crate::model::Gvk;
use crate::model::annotations::OWNER_LABEL;
use crate::model::selector::LabelSelector;

fn spec() -> WatchSpec {
    WatchSpec {
        gvk: Gvk::new("", "v1", "ConfigMap"),
        namespace: None,
        labels: LabelSelector::exists(OWNER_LABEL),
        content: Content::Full,
        purpose: Purpose::Children,
    }
}

fn mk(name: &str, uid: u64, version: u64) -> Arc<Object> {
    let object = json!({"metadata": {
        "name": name, "namespace": "n", "uid": uid.to_string(),
        "resourceVersion": version.to_string(), "labels": {OWNER_LABEL: "cr"},
    }});
    Arc::new(Object::from_value(&spec().gvk, &object).unwrap())
}

fn key(name: &str) -> Key {
    ("n".into(), name.into())
}

fn ours(object: &Arc<Object>) -> WriteResult {
    WriteResult::Object {
        object: Arc::clone(object),
        own: true,
    }
}

fn versions(change: &ObjectChange) -> (Option<&str>, Option<&str>) {
    (
        change.old.as_ref().map(|object| &*object.resource_version),
        change.new.as_ref().map(|object| &*object.resource_version),
    )
}

#[test]
fn versions_compare_as_numbers_of_any_length() {
    assert_eq!(compare("10", "9"), Ordering::Greater);
    assert_eq!(compare("9", "10"), Ordering::Less);
    assert_eq!(compare("7", "7"), Ordering::Equal);
    let long = "123456789012345678901234567890";
    assert_eq!(compare(long, "9"), Ordering::Greater);
    assert_eq!(compare("b", "a"), Ordering::Greater);
    assert_eq!(compare("a", "b"), Ordering::Greater);
    assert_eq!(compare("a", "a"), Ordering::Equal);
}

#[test]
fn an_event_before_the_response_is_delayed_and_dropped() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    assert!(store.applied(&mk("a", 1, 2)).is_none());
    assert!(
        store
            .write_ends(&key("a"), &spec(), &ours(&mk("a", 1, 2)))
            .is_empty()
    );
    let told = store.applied(&mk("a", 1, 3)).unwrap();
    assert_eq!(versions(&told), (Some("2"), Some("3")));
}

#[test]
fn an_event_after_the_answer_is_dropped() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    assert!(
        store
            .write_ends(&key("a"), &spec(), &ours(&mk("a", 1, 2)))
            .is_empty()
    );
    assert_eq!(&*store.get("n", "a").unwrap().resource_version, "2");
    assert!(store.applied(&mk("a", 1, 2)).is_none());
}

#[test]
fn a_write_is_forgotten_after_its_event() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    for version in 2..5 {
        store.write_begins(&key("a"));
        store.write_ends(&key("a"), &spec(), &ours(&mk("a", 1, version)));
    }
    store.applied(&mk("a", 1, 3));
    let lags = |store: &Cache| store.entry("n", "a").unwrap().pending.is_some();
    assert!(lags(&store), "the last write is still to be shown");
    store.applied(&mk("a", 1, 4));
    assert!(!lags(&store));
}

#[test]
fn a_kind_that_goes_takes_its_objects_along_and_no_write_that_is_under_way() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("b"));
    let before = store.version();
    let changes = store.clear();
    let told: Vec<_> = changes.iter().map(versions).collect();
    assert_eq!(told, [(Some("1"), None)]);
    assert_eq!((store.len(), store.bytes()), (0, 0));
    assert!(store.version() > before, "who has looked looks again");
    assert!(store.applied(&mk("b", 2, 2)).is_none(), "it may be ours");
    let ended = store.write_ends(&key("b"), &spec(), &ours(&mk("b", 2, 2)));
    assert!(ended.is_empty());
    assert!(store.get("n", "b").is_some());
}

#[test]
fn a_foreign_change_before_our_write_is_reported() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    store.write_ends(&key("a"), &spec(), &ours(&mk("a", 1, 3)));
    let told = store.applied(&mk("a", 1, 2)).unwrap();
    assert_eq!(versions(&told), (Some("1"), Some("2")));
    assert_eq!(&*store.get("n", "a").unwrap().resource_version, "3");
    assert!(store.applied(&mk("a", 1, 3)).is_none());
}

#[test]
fn a_write_without_a_response_is_reported() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    assert!(store.applied(&mk("a", 1, 2)).is_none());
    let told = store.write_ends(&key("a"), &spec(), &WriteResult::Nothing);
    assert_eq!(told.len(), 1);
}

#[test]
fn a_write_without_a_change_leaves_the_event_to_the_watch() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    let answer = WriteResult::Object {
        object: mk("a", 1, 2),
        own: false,
    };
    assert!(store.write_ends(&key("a"), &spec(), &answer).is_empty());
    assert!(store.applied(&mk("a", 1, 2)).is_some());
}

#[test]
fn a_version_without_an_object_counts_as_our_write() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    store.write_ends(&key("a"), &spec(), &WriteResult::Version("2".into()));
    assert!(store.applied(&mk("a", 1, 2)).is_none());
    assert_eq!(&*store.get("n", "a").unwrap().resource_version, "2");
}

#[test]
fn an_object_that_we_deleted_and_recreated_stays() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    store.write_ends(&key("a"), &spec(), &WriteResult::Deleted("1".into()));
    assert!(store.get("n", "a").is_none());
    store.write_begins(&key("a"));
    store.write_ends(&key("a"), &spec(), &ours(&mk("a", 2, 4)));
    // The events of the first come late.
    assert!(store.applied(&mk("a", 1, 2)).is_none());
    assert!(store.deleted(&mk("a", 1, 3)).is_none());
    assert!(store.applied(&mk("a", 2, 4)).is_none());
    assert_eq!(&*store.get("n", "a").unwrap().uid, "2");
    assert_eq!(store.owned_by("cr").count(), 1);
}

#[test]
fn a_relist_finds_what_went_and_keeps_what_was_written_since() {
    let mut store = Cache::default();
    for name in ["a", "b"] {
        store.applied(&mk(name, 1, 1));
    }
    let floor = store.newest();
    store.list_begins("5", &floor);
    assert!(store.listed(mk("a", 1, 1)).is_none());
    store.write_begins(&key("c"));
    store.write_ends(&key("c"), &spec(), &ours(&mk("c", 2, 6)));
    let told = store.list_ends("5");
    let gone: Vec<_> = told
        .iter()
        .map(|change| &*change.old.as_ref().unwrap().name)
        .collect();
    assert_eq!(gone, ["b"]);
    assert!(store.complete() && store.get("n", "c").is_some());
    assert_eq!(store.len(), 2);
}

#[test]
fn a_restored_cluster_may_go_back_in_time() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 100));
    let floor = store.newest();
    store.list_begins("50", &floor);
    assert!(store.listed(mk("a", 1, 40)).is_some());
    store.list_ends("50");
    assert_eq!(&*store.get("n", "a").unwrap().resource_version, "40");
}

#[test]
fn objects_that_a_restored_cluster_lacks_are_removed() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 8));
    store.applied(&mk("b", 2, 9));
    store.list_begins("2", "9");
    assert!(store.listed(mk("a", 1, 1)).is_some());
    let told = store.list_ends("2");
    assert_eq!(
        told.iter().map(versions).collect::<Vec<_>>(),
        [(Some("9"), None)]
    );
    assert!(store.get("n", "b").is_none());
    assert_eq!(&*store.get("n", "a").unwrap().resource_version, "1");
}

#[test]
fn an_older_list_does_not_restore_an_object_that_we_deleted() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    store.write_ends(&key("a"), &spec(), &WriteResult::Deleted("1".into()));
    store.list_begins("1", "1");
    assert!(store.listed(mk("a", 1, 1)).is_none());
    assert!(store.get("n", "a").is_none());
}

#[test]
fn an_event_without_a_change_is_not_reported() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 2));
    assert!(store.applied(&mk("a", 1, 2)).is_none());
    assert!(store.applied(&mk("a", 1, 1)).is_none());
    // Some servers send the last version of an object in its deletion event.
    let told = store.deleted(&mk("a", 1, 2)).unwrap();
    assert_eq!(versions(&told), (Some("2"), None));
    assert!(store.get("n", "a").is_none());
}

#[test]
fn changes_are_reported_after_the_last_pending_write() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    store.write_begins(&key("a"));
    assert!(store.applied(&mk("a", 1, 2)).is_none());
    let first = store.write_ends(&key("a"), &spec(), &ours(&mk("a", 1, 3)));
    assert!(first.is_empty());
    let last = store.write_ends(&key("a"), &spec(), &ours(&mk("a", 1, 2)));
    assert!(last.is_empty());
}

#[test]
fn a_list_that_shows_our_write_may_hide_a_foreign_one() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    store.list_begins("3", "1");
    assert!(store.listed(mk("a", 1, 3)).is_none());
    assert!(store.list_ends("3").is_empty());
    let told = store.write_ends(&key("a"), &spec(), &ours(&mk("a", 1, 3)));
    assert_eq!(
        told.iter().map(versions).collect::<Vec<_>>(),
        [(Some("1"), Some("3"))]
    );
}

#[test]
fn a_record_goes_with_its_object() {
    let mut store = Cache::default();
    let record = || -> Option<Record> { Some(Arc::new(7)) };
    store.set_record("n", "a", &mut record());
    assert!(store.record("n", "a").is_none());
    store.applied(&mk("a", 1, 1));
    store.set_record("n", "a", &mut record());
    store.applied(&mk("a", 1, 2));
    assert!(store.record("n", "a").is_some());
    store.applied(&mk("a", 2, 3));
    assert!(store.record("n", "a").is_none());
}

#[test]
fn an_object_that_our_write_deselects_is_removed() {
    let mut store = Cache::default();
    store.applied(&mk("a", 1, 1));
    store.write_begins(&key("a"));
    let unlabelled = json!({"metadata":
        {"name": "a", "namespace": "n", "uid": "1", "resourceVersion": "2"}});
    let unlabelled = Arc::new(Object::from_value(&spec().gvk, &unlabelled).unwrap());
    assert!(
        store
            .write_ends(&key("a"), &spec(), &ours(&unlabelled))
            .is_empty()
    );
    assert!(store.get("n", "a").is_none());
    assert!(store.deleted(&mk("a", 1, 2)).is_none());
    assert_eq!((store.len(), store.bytes()), (0, 0));
}

/// A change of one object.
#[derive(Clone, Copy, Debug)]
enum Step {
    ForeignWrite,
    ForeignDelete,
    /// Our write reaches the server, whose answer waits for `Answer`.
    OwnWrite,
    OwnDelete,
    Answer,
    LoseAnswer,
    /// The watch shows the next event.
    Show,
    /// All events are lost, and a list is taken.
    Relist,
}

#[derive(Default)]
struct SimulatedServer {
    store: Cache,
    live: Option<Arc<Object>>,
    version: u64,
    events: VecDeque<(bool, Arc<Object>)>,
    answer: Option<WriteResult>,
    /// True if a foreign change has not been reported yet.
    untold: bool,
    told: usize,
}

impl SimulatedServer {
    fn write(&mut self) -> Arc<Object> {
        self.version += 1;
        let uid = self
            .live
            .as_ref()
            .map_or(self.version, |live| live.uid.parse().unwrap());
        let object = mk("a", uid, self.version);
        self.live = Some(Arc::clone(&object));
        self.events.push_back((true, Arc::clone(&object)));
        object
    }

    fn delete(&mut self) -> Option<Arc<Object>> {
        let gone = self.live.take()?;
        self.version += 1;
        let gone = mk("a", gone.uid.parse().unwrap(), self.version);
        self.events.push_back((false, Arc::clone(&gone)));
        Some(gone)
    }

    fn tell(&mut self, changes: impl IntoIterator<Item = ObjectChange>) {
        let told = changes.into_iter().count();
        self.told += told;
        if told > 0 {
            self.untold = false;
        }
    }

    fn answer(&mut self, answer: &WriteResult) {
        let changes = self.store.write_ends(&key("a"), &spec(), answer);
        self.tell(changes);
    }

    fn step(&mut self, step: Step) {
        match step {
            Step::ForeignWrite => {
                self.write();
                self.untold = true;
            }
            Step::ForeignDelete => self.untold |= self.delete().is_some(),
            Step::OwnWrite if self.answer.is_none() => {
                self.store.write_begins(&key("a"));
                self.answer = Some(ours(&self.write()));
            }
            Step::OwnDelete if self.answer.is_none() && self.live.is_some() => {
                self.store.write_begins(&key("a"));
                let gone = self.delete().unwrap();
                self.answer = Some(WriteResult::Deleted(gone.uid.clone()));
                // A change before the deletion does not have to be reported.
                self.untold = false;
            }
            Step::Answer => {
                if let Some(answer) = self.answer.take() {
                    self.answer(&answer);
                }
            }
            Step::LoseAnswer => {
                if self.answer.take().is_some() {
                    self.answer(&WriteResult::Nothing);
                }
            }
            Step::Show => {
                let Some((there, object)) = self.events.pop_front() else {
                    return;
                };
                let change = if there {
                    self.store.applied(&object)
                } else {
                    self.store.deleted(&object)
                };
                self.tell(change);
            }
            Step::Relist => {
                self.events.clear();
                // An object that was created and deleted between two lists does not have to be reported.
                let held = self.store.get("n", "a").is_some();
                self.untold &= held || self.live.is_some();
                let floor = self.store.newest();
                let version = self.version.to_string();
                self.store.list_begins(&version, &floor);
                let listed = self.live.clone().and_then(|live| self.store.listed(live));
                self.tell(listed);
                let swept = self.store.list_ends(&version);
                self.tell(swept);
            }
            Step::OwnWrite | Step::OwnDelete => {}
        }
    }
}

fn steps(foreign: bool) -> impl Strategy<Value = Vec<Step>> {
    let own = [
        Step::OwnWrite,
        Step::OwnDelete,
        Step::Answer,
        Step::Show,
        Step::Show,
    ];
    let mixed = [
        Step::ForeignWrite,
        Step::ForeignDelete,
        Step::LoseAnswer,
        Step::Relist,
        Step::OwnWrite,
        Step::OwnDelete,
        Step::Answer,
        Step::Show,
        Step::Show,
    ];
    let kinds = if foreign {
        mixed.to_vec()
    } else {
        own.to_vec()
    };
    proptest::collection::vec(proptest::sample::select(kinds), 0..40)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn the_cache_converges_and_reports_each_foreign_change(
        steps in steps(true)
    ) {
        let mut world = SimulatedServer::default();
        for step in steps {
            world.step(step);
        }
        world.step(Step::Answer);
        while !world.events.is_empty() {
            world.step(Step::Show);
        }
        prop_assert_eq!(world.store.get("n", "a"), world.live.as_ref());
        prop_assert_eq!(world.store.len(), usize::from(world.live.is_some()));
        prop_assert!(!world.untold);
    }

    #[test]
    fn own_writes_are_not_reported(steps in steps(false)) {
        let mut world = SimulatedServer::default();
        for step in steps {
            world.step(step);
        }
        world.step(Step::Answer);
        while !world.events.is_empty() {
            world.step(Step::Show);
        }
        prop_assert_eq!(world.told, 0);
        prop_assert_eq!(world.store.get("n", "a"), world.live.as_ref());
    }
}
