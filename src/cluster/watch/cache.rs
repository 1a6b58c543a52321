//! The cache of one watch, without IO. Its inputs are events, list items, and answers to writes of this
//! process. Its outputs are the changes that listeners must get.
//!
//! Invariants:
//! - The newer resource version wins, from any source.
//! - A relist marks its objects with an epoch and removes the others. It needs no second copy of the
//!   cache.
//! - The cache recognizes a write of this process by the version of its answer, and a deletion by the uid.
//!   Events of an object with a write in flight change the cache at once. Listeners get them only when the
//!   answer (or the failure) is known.
//! - While the watch lags behind an answer, the entry records the last state of the watch
//!   ([`PendingEcho`]), so that listeners get a foreign change in between although the cache has a newer
//!   version.
//! - Listeners get a change whose author is not known, because a relist skipped it.

mod events;
mod in_flight;
mod lists;
mod pending_echo;
mod writes;

use std::any::Any;
use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

pub(in crate::cluster) use self::in_flight::WriteResult;
use self::in_flight::{DeferredChange, InFlightWrites};
use self::pending_echo::PendingEcho;
use super::change::ObjectChange;
use crate::model::Object;

/// The namespace (`""` for none) and the name.
type Key = (Arc<str>, Arc<str>);

#[derive(Default)]
pub(super) struct Cache {
    objects: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Entry>>,
    /// The objects with an owner label, by its value.
    owners: HashMap<Box<str>, Vec<Key>>,
    writes: HashMap<Key, InFlightWrites>,
    /// True once a list is complete.
    complete: bool,
    epoch: u32,
    /// True during a list that goes back in time (a restored cluster): listed objects replace newer ones.
    restored: bool,
    /// The newest version from any source.
    newest: Box<str>,
    /// The version up to which the watch has reported all changes.
    shown: Box<str>,
    count: usize,
    bytes: usize,
    /// The number of changes, including those of this process.
    version: u64,
}

/// One object, or temporarily the record of one that this process deleted.
struct Entry {
    object: Option<Arc<Object>>,
    epoch: u32,
    pending: Option<Box<PendingEcho>>,
    record: Option<Record>,
}

/// Compares resource versions as numbers. If one is not a number, a different version is newer.
pub(in crate::cluster) fn compare(new: &str, old: &str) -> Ordering {
    let number = |text: &str| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    match (number(new), number(old)) {
        (true, true) => new.len().cmp(&old.len()).then_with(|| new.cmp(old)),
        _ if new == old => Ordering::Equal,
        _ => Ordering::Greater,
    }
}

fn key_of(object: &Object) -> Key {
    let namespace = object.namespace.clone().unwrap_or_else(|| Arc::from(""));
    (namespace, Arc::clone(&object.name))
}

impl Cache {
    pub(super) fn complete(&self) -> bool {
        self.complete
    }

    /// Marks that the cache no longer follows the server. It keeps its objects, so that the next list can
    /// be compared with them.
    pub(super) fn interrupt(&mut self) {
        self.complete = false;
    }

    pub(super) fn len(&self) -> usize {
        self.count
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn version(&self) -> u64 {
        self.version
    }

    /// Returns the newest version.
    pub(super) fn newest(&self) -> Box<str> {
        self.newest.clone()
    }

    fn entry(&self, namespace: &str, name: &str) -> Option<&Entry> {
        self.objects.get(namespace)?.get(name)
    }

    fn entry_mut(&mut self, namespace: &str, name: &str) -> Option<&mut Entry> {
        self.objects.get_mut(namespace)?.get_mut(name)
    }

    pub(super) fn get(&self, namespace: &str, name: &str) -> Option<&Arc<Object>> {
        self.entry(namespace, name)?.object.as_ref()
    }

    pub(super) fn iter(&self, namespace: Option<&str>) -> impl Iterator<Item = &Arc<Object>> {
        let all = namespace.is_none().then_some(&self.objects);
        let one = namespace.and_then(|namespace| self.objects.get(namespace));
        let namespaces = all.into_iter().flat_map(BTreeMap::values).chain(one);
        namespaces
            .flat_map(BTreeMap::values)
            .filter_map(|entry| entry.object.as_ref())
    }

    pub(super) fn owned_by(&self, uid: &str) -> impl Iterator<Item = &Arc<Object>> {
        let keys = self.owners.get(uid).map(Vec::as_slice).unwrap_or_default();
        keys.iter()
            .filter_map(|(namespace, name)| self.get(namespace, name))
    }

    pub(super) fn record(&self, namespace: &str, name: &str) -> Option<Record> {
        self.entry(namespace, name)?.record.clone()
    }

    /// Stores the record if the cache has the object.
    pub(super) fn set_record(&mut self, namespace: &str, name: &str, record: &mut Option<Record>) {
        let entry = self.entry_mut(namespace, name);
        if let Some(entry) = entry.filter(|entry| entry.object.is_some()) {
            entry.record = record.take();
        }
    }

    /// Adds, replaces or removes an object. Removes the record of own writes when it is empty.
    fn set(&mut self, key: &Key, object: Option<Arc<Object>>, pending: Option<Box<PendingEcho>>) {
        self.version += 1;
        let pending = pending.filter(|pending| !pending.is_settled());
        let before = self.take(key);
        if object.is_none() && pending.is_none() {
            return;
        }
        if let Some(object) = &object {
            self.see(&object.resource_version);
            self.count += 1;
            self.bytes += object.size();
            if let Some(uid) = object.owner_uid() {
                self.owners.entry(uid.into()).or_default().push(key.clone());
            }
        }
        let same = |held: &Arc<Object>| object.as_ref().is_some_and(|new| new.uid == held.uid);
        let record = before.and_then(|before| {
            let kept = before.object.as_ref().is_some_and(same);
            before.record.filter(|_| kept)
        });
        let entry = Entry {
            object,
            epoch: self.epoch,
            pending,
            record,
        };
        let namespace = self.objects.entry(Arc::clone(&key.0)).or_default();
        namespace.insert(Arc::clone(&key.1), entry);
    }

    /// Removes an entry, and subtracts it from the counts.
    fn take(&mut self, (namespace, name): &Key) -> Option<Entry> {
        let entries = self.objects.get_mut(namespace)?;
        let entry = entries.remove(name);
        if entries.is_empty() {
            self.objects.remove(namespace);
        }
        let entry = entry?;
        if let Some(object) = &entry.object {
            self.count -= 1;
            self.bytes -= object.size();
            if let Some(uid) = object.owner_uid()
                && let Some(keys) = self.owners.get_mut(uid)
            {
                keys.retain(|(ns, n)| ns != namespace || n != name);
                if keys.is_empty() {
                    self.owners.remove(uid);
                }
            }
        }
        Some(entry)
    }

    /// Returns a change, or defers it while a write of this process is in flight.
    fn filter_deferred(&mut self, change: ObjectChange, skipped: bool) -> Option<ObjectChange> {
        let object = change.new.as_ref().or(change.old.as_ref())?;
        if self.writes.is_empty() {
            return Some(change);
        }
        let Some(write) = self.writes.get_mut(&key_of(object)) else {
            return Some(change);
        };
        write.deferred.push(DeferredChange { change, skipped });
        None
    }

    fn see(&mut self, version: &str) {
        if compare(version, &self.newest).is_gt() {
            self.newest = version.into();
        }
    }

    fn advance_shown(&mut self, version: &str) {
        self.see(version);
        if compare(version, &self.shown).is_gt() {
            self.shown = version.into();
        }
    }
}

/// A record that `apply` keeps beside a cached object. It is dropped with the object.
pub type Record = Arc<dyn Any + Send + Sync>;

#[cfg(test)]
mod tests;
