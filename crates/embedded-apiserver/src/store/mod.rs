//! The objects, one revision counter for all, and what has become of them since.
//!
//! Knows no HTTP and no rules of the API: what is put here has been checked. Revisions grow with each
//! write of any object, as etcd's do; clients see them as `resourceVersion`.

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
pub(crate) use table::{Subscription, Table};

use super::resource::Resource;

/// All objects.
#[derive(Debug)]
pub struct Store {
    revision: u64,
    /// The number of events that each table keeps.
    history: usize,
    tables: HashMap<Arc<str>, Table>,
    /// Events that no controller has seen.
    unseen: VecDeque<Arc<Event>>,
}

impl Store {
    /// An empty store whose tables remember this many events each.
    pub fn new(history: usize) -> Self {
        Self {
            revision: 1,
            history,
            tables: HashMap::new(),
            unseen: VecDeque::new(),
        }
    }

    /// The revision of the newest write.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Continues after a revision of a saved state.
    pub fn advance_to(&mut self, revision: u64) {
        self.revision = self.revision.max(revision);
    }

    /// Returns the number of objects.
    pub fn len(&self) -> usize {
        self.tables.values().map(Table::len).sum()
    }

    /// Returns whether there are none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The objects of a resource, if it is stored.
    pub fn table(&self, storage: &str) -> Option<&Table> {
        self.tables.get(storage)
    }

    /// Stores a resource from now on.
    pub fn open(&mut self, storage: &Arc<str>) {
        let (history, revision) = (self.history, self.revision);
        self.tables
            .entry(Arc::clone(storage))
            .or_insert_with(|| Table::new(history, revision));
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

    /// Writes an object under a new revision, which becomes its `resourceVersion`.
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

    /// Removes an object. Its event has the last state that is given here, under a new revision.
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

    /// Puts an object of a saved state back, its `resourceVersion` unchanged.
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

    /// The next event that the controllers have not seen.
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
