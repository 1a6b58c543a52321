//! The cache of one watch: pure, without IO. What goes in are events, list items and answers to our
//! own writes; what comes out are the changes that listeners should hear of.
//!
//! Invariants:
//! - The newer resource version wins, whichever way it came.
//! - A relist marks what it sees by an epoch and sweeps the rest: no second copy of the cache.
//! - An own write is known by the version of its answer, an own deletion by the uid. Events of an
//!   object with a write in flight change the cache at once but are told only when the answer (or its
//!   failure) is known.
//! - While the watch lags behind an answer, the entry remembers what the watch last showed
//!   ([`PendingEcho`]), so that a foreign change in between is told although a newer version is held.
//! - Where it cannot be known whose a change was (a relist skipped it), it is told.

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

/// Namespace (`""` for none) and name.
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
    /// The newest version that came in, by whichever way.
    newest: Box<str>,
    /// The version up to which the watch has shown everything.
    shown: Box<str>,
    count: usize,
    bytes: usize,
    /// Counts changes, own ones included.
    version: u64,
}

/// One object, or for a while the memory of one that we deleted.
struct Entry {
    object: Option<Arc<Object>>,
    epoch: u32,
    pending: Option<Box<PendingEcho>>,
    record: Option<Record>,
}

/// Compares resource versions: as numbers where both are some, else whatever differs is newer.
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

    /// The cache no longer follows the server; what it holds stays for the next list to compare with.
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

    /// The newest version that was seen.
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

    /// Takes the record if there is an object to keep it beside.
    pub(super) fn set_record(&mut self, namespace: &str, name: &str, record: &mut Option<Record>) {
        let entry = self.entry_mut(namespace, name);
        if let Some(entry) = entry.filter(|entry| entry.object.is_some()) {
            entry.record = record.take();
        }
    }

    /// Puts, replaces or removes an object; the memory of our writes goes when nothing is left of it.
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

    /// Takes an entry out, and what is counted of it.
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
