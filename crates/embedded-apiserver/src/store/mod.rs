//! The store: all objects, one revision counter, and recent events.
//!
//! The store knows neither HTTP nor the rules of the API, and trusts its callers to check the objects. Each
//! write of any object increments the revision, as in etcd. Clients see it as `resourceVersion`.

mod event;
mod key;
mod table;

#[cfg(test)]
mod tests;

use std::collections::HashMap;
use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

pub(crate) use event::{Change, Event};
pub(crate) use key::Key;
pub(crate) use table::{ResourceTable, Subscription};

use super::resource::Resource;

/// All objects.
#[derive(Debug)]
pub struct Store {
    revision: u64,
    /// The number of events that each table keeps.
    history: usize,
    tables: HashMap<Arc<str>, ResourceTable>,
    /// Events that the controllers have not handled yet.
    unseen: VecDeque<Arc<Event>>,
}

impl Store {
    /// Returns an empty store whose tables keep `history` events each.
    pub fn new(history: usize) -> Self {
        Self {
            revision: 1,
            history,
            tables: HashMap::new(),
            unseen: VecDeque::new(),
        }
    }

    /// Returns the revision of the newest write.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Raises the revision to that of a saved state.
    pub fn advance_to(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.tables.values().map(ResourceTable::len).sum()
    }

    /// Returns whether the store has no objects.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the objects of a resource, if it is stored.
    pub fn table(&self, storage: &str) -> Option<&ResourceTable> {
        self.tables.get(storage)
    }

    /// Adds a table for a resource.
    pub fn open(&mut self, storage: &Arc<str>) {
        let (history, revision) = (self.history, self.revision);
        self.tables
            .entry(Arc::clone(storage))
            .or_insert_with(|| ResourceTable::new(history, revision));
    }

    /// Removes the past events, so that no watch can start before now.
    pub fn forget(&mut self) {
        for table in self.tables.values_mut() {
            table.forget(self.revision);
        }
    }

    /// Ends the watches of a resource.
    pub fn end_watches(&mut self, storage: &str) {
        if let Some(table) = self.tables.get_mut(storage) {
            table.end_watches();
        }
    }

    /// Removes a resource and ends its watches.
    pub fn close(&mut self, storage: &str) {
        self.tables.remove(storage);
    }

    /// Writes an object under a new revision, and sets its `resourceVersion`.
    pub fn put(&mut self, resource: &Arc<Resource>, key: Key, mut object: Value) -> Arc<Value> {
        self.open(resource.storage());
        self.revision += 1;
        object["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let object = Arc::new(object);
        let previous = self
            .tables
            .get_mut(resource.storage())
            .and_then(|table| table.objects.insert(key.clone(), Arc::clone(&object)));
        let change = previous
            .as_ref()
            .map_or(Change::Added, |_| Change::Modified);
        self.record(resource, key, change, Arc::clone(&object), previous);
        object
    }

    /// Removes an object. The event contains `last` under a new revision.
    pub fn remove(&mut self, resource: &Arc<Resource>, key: &Key, mut last: Value) {
        let table = self.tables.get_mut(resource.storage());
        let Some(previous) = table.and_then(|table| table.objects.remove(key)) else {
            return;
        };
        self.revision += 1;
        last["metadata"]["resourceVersion"] = self.revision.to_string().into();
        let (last, key) = (Arc::new(last), key.clone());
        self.record(resource, key, Change::Deleted, last, Some(previous));
    }

    /// Restores an object of a saved state with its `resourceVersion`.
    pub fn restore(&mut self, resource: &Arc<Resource>, key: Key, object: Value) {
        self.open(resource.storage());
        let object = Arc::new(object);
        if let Some(table) = self.tables.get_mut(resource.storage()) {
            table.objects.insert(key.clone(), Arc::clone(&object));
        }
        self.unseen.push_back(Arc::new(Event {
            revision: self.revision,
            change: Change::Added,
            resource: Arc::clone(resource),
            key,
            object,
            previous: None,
        }));
    }

    /// Returns the next event that the controllers have not handled, and removes it from the queue.
    pub fn next_unseen(&mut self) -> Option<Arc<Event>> {
        self.unseen.pop_front()
    }

    fn record(
        &mut self,
        resource: &Arc<Resource>,
        key: Key,
        change: Change,
        object: Arc<Value>,
        previous: Option<Arc<Value>>,
    ) {
        let event = Arc::new(Event {
            revision: self.revision,
            change,
            resource: Arc::clone(resource),
            key,
            object,
            previous,
        });
        self.unseen.push_back(Arc::clone(&event));
        if let Some(table) = self.tables.get_mut(resource.storage()) {
            table.record(event);
        }
    }
}
