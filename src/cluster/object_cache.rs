//! A cache of referenced objects. A value is valid while a watch reports its version as the current one.
//! The size is bounded: the least recently used values are evicted first. Concurrent reads of one object
//! share a request.

use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared};
use parking_lot::Mutex;

use super::error::Error;
use super::list_query::ListQuery;
use super::watch::compare;
use crate::model::{Object, ObjectRef};

/// The maximum number of lists, which is more than roles read. When the table is full, lists that are no
/// longer read are removed.
const LISTS: usize = 64;

type PendingFetch = Shared<BoxFuture<'static, Result<Option<Arc<Object>>, Error>>>;

/// A list, with the version of the watch at which it was read.
type VersionedList = (u64, Vec<Arc<Object>>);

/// The cache.
pub(super) struct ObjectCache {
    bound: usize,
    kept: Mutex<Entries>,
    pending: Mutex<HashMap<ObjectRef, PendingFetch>>,
    /// Lists whose members cannot be determined from metadata.
    lists: Mutex<HashMap<ListQuery, VersionedList>>,
}

#[derive(Default)]
struct Entries {
    values: HashMap<ObjectRef, (Arc<Object>, u64)>,
    by_use: BTreeMap<u64, ObjectRef>,
    bytes: usize,
    clock: u64,
}

impl ObjectCache {
    pub(super) fn new(bound: usize) -> Self {
        Self {
            bound,
            kept: Mutex::default(),
            pending: Mutex::default(),
            lists: Mutex::default(),
        }
    }

    pub(super) fn bytes(&self) -> usize {
        self.kept.lock().bytes
    }

    /// Returns the value if it is not older than this version.
    pub(super) fn get(&self, object: &ObjectRef, version: &str) -> Option<Arc<Object>> {
        let mut kept = self.kept.lock();
        let value = Arc::clone(&kept.values.get(object)?.0);
        if compare(version, &value.resource_version).is_gt() {
            kept.remove(object);
            return None;
        }
        kept.touch(object);
        Some(value)
    }

    pub(super) fn put(&self, value: &Arc<Object>) {
        let object = value.object_ref();
        let mut kept = self.kept.lock();
        let newer = |(held, _): &(Arc<Object>, u64)| {
            compare(&value.resource_version, &held.resource_version).is_lt()
        };
        if kept.values.get(&object).is_some_and(newer) {
            return;
        }
        kept.remove(&object);
        kept.clock += 1;
        let now = kept.clock;
        kept.bytes += value.size();
        kept.by_use.insert(now, object.clone());
        kept.values.insert(object, (Arc::clone(value), now));
        while kept.bytes > self.bound
            && let Some((_, oldest)) = kept.by_use.pop_first()
        {
            kept.remove(&oldest);
        }
    }

    /// Removes a value.
    pub(super) fn remove(&self, object: &ObjectRef) {
        self.kept.lock().remove(object);
    }

    /// Replaces a cached value with a newer version.
    pub(super) fn refresh(&self, value: &Arc<Object>) {
        let is_kept = self.kept.lock().values.contains_key(&value.object_ref());
        if is_kept {
            self.put(value);
        }
    }

    /// Requests an object. Concurrent callers share the request.
    pub(super) async fn fetch_once(
        &self,
        object: &ObjectRef,
        ask: impl FnOnce() -> BoxFuture<'static, Result<Option<Arc<Object>>, Error>>,
    ) -> Result<Option<Arc<Object>>, Error> {
        let flight = {
            let mut flights = self.pending.lock();
            flights
                .entry(object.clone())
                .or_insert_with(|| ask().shared())
                .clone()
        };
        let answer = flight.clone().await;
        let mut flights = self.pending.lock();
        if flights
            .get(object)
            .is_some_and(|current| current.ptr_eq(&flight))
        {
            flights.remove(object);
        }
        answer
    }

    /// Returns the list at this version of the watch.
    pub(super) fn list(&self, query: &ListQuery, version: u64) -> Option<Vec<Arc<Object>>> {
        let lists = self.lists.lock();
        let (known, objects) = lists.get(query)?;
        (*known == version).then(|| objects.clone())
    }

    pub(super) fn put_list(&self, query: &ListQuery, version: u64, objects: &[Arc<Object>]) {
        let mut lists = self.lists.lock();
        if lists.len() >= LISTS && !lists.contains_key(query) {
            lists.clear();
        }
        lists.insert(query.clone(), (version, objects.to_vec()));
    }
}

impl Entries {
    fn remove(&mut self, object: &ObjectRef) {
        if let Some((value, used)) = self.values.remove(object) {
            self.bytes -= value.size();
            self.by_use.remove(&used);
        }
    }

    fn touch(&mut self, object: &ObjectRef) {
        self.clock += 1;
        let now = self.clock;
        if let Some((_, used)) = self.values.get_mut(object) {
            self.by_use.remove(used);
            *used = now;
            self.by_use.insert(now, object.clone());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use serde_json::json;

    fn mk(name: &str, version: u64, fill: usize) -> Arc<Object> {
        let object = json!({
            "metadata": {"name": name, "namespace": "n", "resourceVersion": version.to_string()},
            "data": {"x": "y".repeat(fill)},
        });
        Arc::new(testing::object("ConfigMap", &object))
    }

    #[test]
    fn an_older_value_is_not_used() {
        let values = ObjectCache::new(1 << 20);
        let value = mk("a", 9, 0);
        values.put(&value);
        let object = value.object_ref();
        assert!(values.get(&object, "9").is_some());
        assert!(values.get(&object, "8").is_some());
        assert!(values.get(&object, "10").is_none());
        assert_eq!(values.bytes(), 0);
    }

    #[test]
    fn the_least_recently_used_goes_first() {
        let size = mk("a", 1, 1000).size();
        let values = ObjectCache::new(size * 2);
        let [a, b, c] = ["a", "b", "c"].map(|name| mk(name, 1, 1000));
        values.put(&a);
        values.put(&b);
        assert!(values.get(&a.object_ref(), "1").is_some());
        values.put(&c);
        assert!(values.get(&b.object_ref(), "1").is_none());
        assert!(values.get(&a.object_ref(), "1").is_some());
        assert!(values.bytes() <= size * 2);
    }
}
