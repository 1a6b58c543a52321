//! Tests of tables: objects, earlier states and subscriptions.

use std::sync::Arc;

use serde_json::{Value, json};

use super::table::Expired;
use super::{Key, Store};
use crate::resource::{Catalogue, Resource};

/// A store that keeps three events of a resource, and that resource.
struct Model {
    store: Store,
    maps: Arc<Resource>,
}

impl Model {
    fn new() -> Self {
        let catalogue = Catalogue::builtin();
        let maps = Arc::clone(catalogue.get("configmaps").unwrap());
        let mut store = Store::new(3);
        store.open(maps.storage());
        Self { store, maps }
    }

    /// Writes an object. Returns the revision of the write.
    fn put(&mut self, namespace: &str, name: &str, value: u32) -> u64 {
        let object = json!({"metadata": {"name": name}, "value": value});
        self.store
            .put(&self.maps, Key::new(namespace, name), object);
        self.store.revision()
    }

    fn remove(&mut self, namespace: &str, name: &str) -> u64 {
        let last = json!({"metadata": {"name": name}});
        let key = Key::new(namespace, name);
        self.store.remove(&self.maps, &key, last);
        self.store.revision()
    }

    fn table(&self) -> &super::ResourceTable {
        self.store.table(self.maps.storage()).unwrap()
    }

    fn values_at(&self, namespace: Option<&str>, revision: u64) -> Result<Vec<Value>, Expired> {
        let items = self.table().list_at(namespace, revision)?;
        Ok(items.iter().map(|(_, one)| one["value"].clone()).collect())
    }
}

#[test]
fn a_past_state_is_known_as_far_back_as_events_are() {
    let mut world = Model::new();
    let first = world.put("n", "a", 1);
    world.put("n", "a", 2);
    let third = world.put("n", "b", 3);
    world.remove("n", "a");
    // The history has three events, so the state before the oldest of them is known as well.
    assert_eq!(world.table().oldest(), first);
    assert_eq!(world.values_at(None, first), Ok(vec![json!(1)]));
    assert_eq!(world.values_at(None, third), Ok(vec![json!(2), json!(3)]));
    assert_eq!(world.values_at(None, third + 1), Ok(vec![json!(3)]));
    let forgotten = Err(Expired { oldest: first });
    assert_eq!(world.values_at(None, first - 1), forgotten);
    assert!(world.table().events_after(first - 1).is_err());
    assert_eq!(world.table().events_after(first).unwrap().len(), 3);
    let newest = world.table().events_after(third).unwrap();
    assert_eq!(newest.len(), 1);
    assert_eq!(newest[0].revision, third + 1);
}

#[test]
fn a_namespace_is_no_other_whose_name_begins_like_it() {
    let mut world = Model::new();
    world.put("team", "a", 1);
    let revision = world.put("team-b", "a", 2);
    let of = |namespace| world.table().list(Some(namespace)).count();
    assert_eq!((of("team"), of("team-b"), of("tea")), (1, 1, 0));
    assert_eq!(
        world.values_at(Some("team"), revision - 1),
        Ok(vec![json!(1)])
    );
    assert_eq!(world.values_at(Some("team-b"), revision - 1), Ok(vec![]));
}

#[tokio::test]
async fn watchers_wake_at_writes_and_end_with_the_table() {
    let mut world = Model::new();
    let mut watcher = world.table().subscribe();
    world.put("n", "a", 1);
    assert!(watcher.changed().await);
    world.store.end_watches(world.maps.storage());
    assert!(!watcher.changed().await);
    let mut another = world.table().subscribe();
    world.store.close(world.maps.storage());
    assert!(!another.changed().await);
}

#[test]
fn the_last_state_of_what_is_removed_has_a_revision_of_its_own() {
    let mut world = Model::new();
    let made = world.put("n", "a", 1);
    let removed = world.remove("n", "a");
    assert_eq!(removed, made + 1);
    let events = world.table().events_after(made).unwrap();
    let version = &events[0].object["metadata"]["resourceVersion"];
    assert_eq!(*version, removed.to_string());
    assert_eq!(world.remove("n", "a"), removed, "it is gone already");
}
