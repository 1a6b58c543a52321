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
//!   ([`Unseen`]), so that a foreign change in between is told although a newer version is held.
//! - Where it cannot be known whose a change was (a relist skipped it), it is told.

use std::cmp::Ordering;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

use super::{Change, Content, Spec};
use crate::cluster::Record;
use crate::model::Object;

/// Namespace (`""` for none) and name.
type Key = (Arc<str>, Arc<str>);

#[derive(Default)]
pub(super) struct Store {
    objects: BTreeMap<Arc<str>, BTreeMap<Arc<str>, Entry>>,
    /// By owner label.
    owners: HashMap<Box<str>, Vec<Key>>,
    writes: HashMap<Key, InFlight>,
    /// Whether a list has gone through.
    complete: bool,
    epoch: u32,
    /// In a list that goes back in time (a restored cluster) what is listed wins.
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
    unseen: Option<Box<Unseen>>,
    record: Option<Record>,
}

/// How the watch lags behind our own writes.
#[derive(Default)]
struct Unseen {
    /// The object as the watch last showed it.
    base: Option<Arc<Object>>,
    /// Versions of our making that it has yet to show.
    own: Vec<Box<str>>,
    /// Uids of what we deleted, whose end it has yet to show.
    deleted: Vec<Box<str>>,
}

/// Writes of ours that have no answer yet.
#[derive(Default)]
struct InFlight {
    writers: u32,
    held: Vec<Held>,
    own: Vec<Box<str>>,
    deleted: Vec<Box<str>>,
}

/// A change that is not told before an answer is known.
struct Held {
    change: Change,
    /// A relist may have skipped foreign changes: told whatever the answer.
    skipped: bool,
}

/// The answer to a write of ours.
pub(in crate::cluster) enum Answer {
    /// The object as it now is; `own` unless the write changed nothing.
    Object {
        /// As the server told it.
        object: Arc<Object>,
        /// Whether this version is of our making.
        own: bool,
    },
    /// The object of this uid is gone.
    Deleted(Box<str>),
    /// The object has this version now; a subresource answers with no more.
    Version(Box<str>),
    /// None came, or a refusal.
    Nothing,
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

impl Store {
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

    /// An ADDED or MODIFIED event.
    pub(super) fn applied(&mut self, object: Arc<Object>) -> Option<Change> {
        self.show(&object.resource_version);
        let key = key_of(&object);
        let change = self.event(&key, &object, Some(Arc::clone(&object)));
        self.tell(change?, false)
    }

    /// A DELETED event.
    pub(super) fn deleted(&mut self, object: &Object) -> Option<Change> {
        self.show(&object.resource_version);
        let key = key_of(object);
        let change = self.event(&key, object, None);
        self.tell(change?, false)
    }

    /// What an event changes for who follows the watch; `state` is the object, `None` once it is gone.
    fn event(&mut self, key: &Key, event: &Object, state: Option<Arc<Object>>) -> Option<Change> {
        let (uid, version) = (&*event.uid, &*event.resource_version);
        let Some(entry) = self.entry_mut(&key.0, &key.1) else {
            self.set(key, Some(state.clone()?), None);
            return Some(Change {
                old: None,
                new: state,
            });
        };
        let held = entry.object.clone();
        let is_newer = held.as_ref().is_none_or(|held| {
            compare(version, &held.resource_version).is_gt()
                || (state.is_none() && *held.uid == *uid)
        });
        let Some(mut unseen) = entry.unseen.take() else {
            if !is_newer {
                return None;
            }
            self.set(key, state.clone(), None);
            return Some(Change {
                old: held,
                new: state,
            });
        };
        let by_us = unseen.deletes(uid) || (state.is_some() && unseen.made(version));
        let now = match (is_newer, &state) {
            (true, Some(_)) if unseen.deletes(uid) => None,
            (true, state) => state.clone(),
            (false, _) => held,
        };
        if state.is_none() {
            unseen.deleted.retain(|deleted| **deleted != *uid);
        }
        unseen.own.retain(|own| compare(own, version).is_gt());
        let old = std::mem::replace(&mut unseen.base, state.clone());
        self.set(key, now, Some(unseen));
        let anything = old.is_some() || state.is_some();
        (anything && !by_us).then_some(Change { old, new: state })
    }

    /// A list begins that was asked for when `floor` was the newest version seen.
    pub(super) fn list_begins(&mut self, list_version: &str, floor: &str) {
        self.epoch = self.epoch.wrapping_add(1);
        self.restored = !floor.is_empty() && compare(list_version, floor).is_lt();
        if self.restored {
            self.shown = "".into();
        }
    }

    /// An item of the list.
    pub(super) fn listed(&mut self, object: Arc<Object>) -> Option<Change> {
        let key = key_of(&object);
        if self.restored {
            self.set(&key, None, None);
        }
        let change = self.relisted(&key, object);
        let epoch = self.epoch;
        if let Some(entry) = self.entry_mut(&key.0, &key.1) {
            entry.epoch = epoch;
        }
        self.tell(change?, true)
    }

    fn relisted(&mut self, key: &Key, new: Arc<Object>) -> Option<Change> {
        let Some(entry) = self.entry_mut(&key.0, &key.1) else {
            self.set(key, Some(Arc::clone(&new)), None);
            return Some(Change {
                old: None,
                new: Some(new),
            });
        };
        if entry
            .unseen
            .as_ref()
            .is_some_and(|unseen| unseen.deletes(&new.uid))
        {
            // The list is from before our deletion, which the watch will show.
            return None;
        }
        let held = entry.object.clone();
        let lags = held
            .as_ref()
            .is_some_and(|held| compare(&new.resource_version, &held.resource_version).is_lt());
        let unseen = entry.unseen.take();
        let was_behind = unseen.is_some();
        let old = unseen
            .as_ref()
            .map_or_else(|| held.clone(), |unseen| unseen.base.clone());
        if lags {
            let mut unseen = unseen.unwrap_or_default();
            unseen.base = Some(Arc::clone(&new));
            self.set(key, held, Some(unseen));
        } else {
            self.set(key, Some(Arc::clone(&new)), None);
        }
        let same = old
            .as_ref()
            .is_some_and(|old| old.resource_version == new.resource_version);
        let stale = lags && !was_behind;
        (!same && !stale).then_some(Change {
            old,
            new: Some(new),
        })
    }

    /// The list is through: what it did not name is gone, unless we wrote it since.
    pub(super) fn list_ends(&mut self, list_version: &str) -> Vec<Change> {
        self.show(list_version);
        let epoch = self.epoch;
        let unmarked: Vec<Key> = self
            .objects
            .iter()
            .flat_map(|(namespace, entries)| {
                let unmarked = entries.iter().filter(|(_, entry)| entry.epoch != epoch);
                unmarked.map(|(name, _)| (Arc::clone(namespace), Arc::clone(name)))
            })
            .collect();
        let mut changes = Vec::new();
        for key in unmarked {
            let change = self.unlisted(&key, list_version);
            changes.extend(change.and_then(|change| self.tell(change, true)));
        }
        self.complete = true;
        self.restored = false;
        changes
    }

    /// What the list did not name: gone, or written by us since.
    fn unlisted(&mut self, key: &Key, list_version: &str) -> Option<Change> {
        let restored = self.restored;
        let entry = self.entry_mut(&key.0, &key.1)?;
        let held = entry.object.clone();
        let unseen = entry.unseen.take();
        let by_us = |object: &Arc<Object>| {
            unseen
                .as_ref()
                .is_some_and(|unseen| unseen.deletes(&object.uid))
        };
        let shown = unseen
            .as_ref()
            .map_or_else(|| held.clone(), |unseen| unseen.base.clone());
        let written_since = held
            .as_ref()
            .is_some_and(|held| compare(&held.resource_version, list_version).is_gt() && !restored);
        let gone = if written_since {
            shown
        } else {
            held.clone().or(shown)
        };
        let gone = gone.filter(|object| !by_us(object));
        if written_since {
            let mut unseen = unseen.unwrap_or_default();
            unseen.base = None;
            unseen.deleted.clear();
            self.set(key, held, Some(unseen));
        } else {
            self.set(key, None, None);
        }
        Some(Change {
            old: Some(gone?),
            new: None,
        })
    }

    /// The kind is gone, and all objects with it.
    pub(super) fn clear(&mut self) -> Vec<Change> {
        let objects = std::mem::take(&mut self.objects);
        let entries = objects.into_values().flat_map(BTreeMap::into_values);
        let olds = entries.filter_map(|entry| entry.object);
        let gone = |old| Change {
            old: Some(old),
            new: None,
        };
        let changes = olds.map(gone).collect();
        *self = Self {
            writes: std::mem::take(&mut self.writes),
            shown: std::mem::take(&mut self.shown),
            version: self.version + 1,
            ..Self::default()
        };
        changes
    }

    /// A write of ours is on its way.
    pub(super) fn write_begins(&mut self, key: &Key) {
        self.writes.entry(key.clone()).or_default().writers += 1;
    }

    /// The write has its answer; the changes are those that were held back and are not our own.
    pub(super) fn write_ends(&mut self, key: &Key, spec: &Spec, answer: &Answer) -> Vec<Change> {
        let write = self.writes.entry(key.clone()).or_default();
        match answer {
            Answer::Object { object, own: true } => {
                write.own.push(object.resource_version.clone());
                self.observe(key, spec, object);
            }
            Answer::Deleted(uid) => {
                write.deleted.push(uid.clone());
                self.forget(key, uid);
            }
            Answer::Version(version) => {
                write.own.push(version.clone());
                self.expect(key, version);
            }
            // What changed nothing, but shows a version that the watch has not shown yet, is left to
            // the watch: the change is a foreign one, and must be told.
            Answer::Object { own: false, .. } | Answer::Nothing => {}
        }
        let write = self.writes.entry(key.clone()).or_default();
        write.writers = write.writers.saturating_sub(1);
        if write.writers > 0 {
            return Vec::new();
        }
        let InFlight {
            held, own, deleted, ..
        } = self.writes.remove(key).unwrap_or_default();
        let foreign = |held: &Held| {
            let by_us = match (&held.change.new, &held.change.old) {
                (Some(new), _) => own.contains(&new.resource_version),
                (None, Some(old)) => deleted.contains(&old.uid),
                (None, None) => true,
            };
            !by_us || held.skipped
        };
        held.into_iter()
            .filter(foreign)
            .map(|held| held.change)
            .collect()
    }

    /// Takes the answer to a write of ours, if the watch has not come as far yet.
    fn observe(&mut self, key: &Key, spec: &Spec, object: &Arc<Object>) {
        if !spec.labels.matches(|key| object.label(key)) {
            // It left the selection by our own hand; the event that says so is ours.
            self.forget(key, &object.uid);
            return;
        }
        if !compare(&object.resource_version, &self.shown).is_gt() {
            self.miss(key, object);
            return;
        }
        let entry = self.entry_mut(&key.0, &key.1);
        let (held, unseen) = entry.map_or((None, None), |entry| {
            (entry.object.clone(), entry.unseen.take())
        });
        let mut unseen = unseen.unwrap_or_else(|| Unseen::after(held.clone()));
        unseen.own.push(object.resource_version.clone());
        let is_newer = held
            .as_ref()
            .is_none_or(|held| compare(&object.resource_version, &held.resource_version).is_gt());
        let kept = match spec.content {
            _ if !is_newer => held,
            Content::Full => Some(Arc::clone(object)),
            Content::Metadata => Some(Arc::new(object.metadata_only())),
        };
        self.set(key, kept, Some(unseen));
    }

    /// The watch is past the version that we wrote; if it is past the object too, that is told.
    fn miss(&mut self, key: &Key, object: &Arc<Object>) {
        let write = self.writes.entry(key.clone()).or_default();
        let told = write.held.iter().any(|held| held.change.new.is_none());
        if !told && self.get(&key.0, &key.1).is_none() {
            let change = Change {
                old: Some(Arc::clone(object)),
                new: None,
            };
            let held = Held {
                change,
                skipped: true,
            };
            self.writes.entry(key.clone()).or_default().held.push(held);
        }
    }

    /// Remembers that a version which the watch has yet to show is ours.
    fn expect(&mut self, key: &Key, version: &str) {
        if !compare(version, &self.shown).is_gt() {
            return;
        }
        if let Some(entry) = self.entry_mut(&key.0, &key.1) {
            let held = entry.object.clone();
            let unseen = entry.unseen.get_or_insert_with(|| Unseen::after(held));
            unseen.own.push(version.into());
        }
    }

    /// Forgets an object that we deleted, and remembers that we did.
    fn forget(&mut self, key: &Key, uid: &str) {
        let Some(entry) = self.entry_mut(&key.0, &key.1) else {
            return;
        };
        let held = entry.object.clone();
        if held.as_ref().is_none_or(|held| *held.uid != *uid) {
            return;
        }
        let mut unseen = entry.unseen.take().unwrap_or_else(|| Unseen::after(held));
        unseen.deleted.push(uid.into());
        self.set(key, None, Some(unseen));
    }

    /// Puts, replaces or removes an object; the memory of our writes goes when nothing is left of it.
    fn set(&mut self, key: &Key, object: Option<Arc<Object>>, unseen: Option<Box<Unseen>>) {
        self.version += 1;
        let unseen = unseen.filter(|unseen| !unseen.is_settled());
        let before = self.take(key);
        if object.is_none() && unseen.is_none() {
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
            unseen,
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

    /// Tells a change, or keeps it while a write of ours is in flight.
    fn tell(&mut self, change: Change, skipped: bool) -> Option<Change> {
        let object = change.new.as_ref().or(change.old.as_ref())?;
        if self.writes.is_empty() {
            return Some(change);
        }
        let Some(write) = self.writes.get_mut(&key_of(object)) else {
            return Some(change);
        };
        write.held.push(Held { change, skipped });
        None
    }

    fn see(&mut self, version: &str) {
        if compare(version, &self.newest).is_gt() {
            self.newest = version.into();
        }
    }

    fn show(&mut self, version: &str) {
        self.see(version);
        if compare(version, &self.shown).is_gt() {
            self.shown = version.into();
        }
    }
}

impl Unseen {
    fn after(base: Option<Arc<Object>>) -> Box<Self> {
        Box::new(Self {
            base,
            ..Self::default()
        })
    }

    fn made(&self, version: &str) -> bool {
        self.own.iter().any(|own| **own == *version)
    }

    fn deletes(&self, uid: &str) -> bool {
        self.deleted.iter().any(|deleted| **deleted == *uid)
    }

    fn is_settled(&self) -> bool {
        self.own.is_empty() && self.deleted.is_empty()
    }
}

#[cfg(test)]
mod tests;
