//! The cache of one watch: pure, without IO. What goes in are events, list items and answers to our
//! own writes; what comes out are the changes that listeners should hear of.
//!
//! Invariants:
//! - The newer resource version wins, whichever way it came.
//! - A relist marks what it sees by an epoch and sweeps the rest: no second copy of the cache.
//! - An own write is known by the resource version of its answer. Events of an object with a write in
//!   flight change the cache at once but are told only when the answer (or its failure) is known.
//! - While events lag behind an answer, the entry remembers what the watch last saw (`Unseen`), so
//!   that a foreign change in between is told although a newer version is held already.

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
    newest: Box<str>,
    count: usize,
    bytes: usize,
    /// Counts changes, own ones included.
    version: u64,
}

/// One object, or the memory of one that we deleted.
struct Entry {
    object: Option<Arc<Object>>,
    epoch: u32,
    unseen: Option<Box<Unseen>>,
    record: Option<Record>,
}

/// What the watch has not shown yet.
#[derive(Default)]
struct Unseen {
    /// The object as the watch last showed it.
    base: Option<Arc<Object>>,
    /// Versions that our writes made.
    own: Vec<Box<str>>,
    /// Uid of what we deleted.
    deleted: Option<Box<str>>,
}

/// Writes of ours that have no answer yet.
#[derive(Default)]
struct InFlight {
    writers: u32,
    held: Vec<Change>,
    own: Vec<Box<str>>,
    deleted: Option<Box<str>>,
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

fn namespace_of(object: &Object) -> &str {
    object.namespace.as_deref().unwrap_or_default()
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
        let change = self.merge(object, false)?;
        self.tell(change)
    }

    /// A DELETED event.
    pub(super) fn deleted(&mut self, object: &Object) -> Option<Change> {
        self.see(&object.resource_version);
        let (namespace, name) = (namespace_of(object), &*object.name);
        let entry = self.entry_mut(namespace, name)?;
        let Some(held) = &entry.object else {
            self.remove(namespace, name);
            return None;
        };
        let newer = compare(&held.resource_version, &object.resource_version).is_gt();
        if held.uid != object.uid && newer {
            return None;
        }
        let base = entry.unseen.take().and_then(|unseen| unseen.base);
        let old = base.or_else(|| entry.object.clone());
        self.remove(namespace, name);
        self.tell(Change { old, new: None })
    }

    /// A list begins that was asked for when `floor` was the newest version seen.
    pub(super) fn list_begins(&mut self, list_version: &str, floor: &str) {
        self.epoch = self.epoch.wrapping_add(1);
        self.restored = !floor.is_empty() && compare(list_version, floor).is_lt();
    }

    /// An item of the list.
    pub(super) fn listed(&mut self, object: Arc<Object>) -> Option<Change> {
        if self.restored {
            self.remove(namespace_of(&object), &object.name);
        }
        let change = self.merge(object, true)?;
        self.tell(change)
    }

    /// The list is through: what it did not name is gone, unless we wrote it since.
    pub(super) fn list_ends(&mut self, list_version: &str) -> Vec<Change> {
        self.see(list_version);
        let (epoch, restored) = (self.epoch, self.restored);
        let written_since =
            |object: &Object| !restored && compare(&object.resource_version, list_version).is_gt();
        let mut gone = Vec::new();
        for (namespace, entries) in &self.objects {
            let unmarked = entries.iter().filter(|(_, entry)| entry.epoch != epoch);
            for (name, Entry { object, .. }) in unmarked {
                if !object.as_ref().is_some_and(|object| written_since(object)) {
                    gone.push((Arc::clone(namespace), Arc::clone(name), object.clone()));
                }
            }
        }
        self.complete = true;
        self.restored = false;
        let changes = gone.into_iter().filter_map(|(namespace, name, old)| {
            self.remove(&namespace, &name);
            old.and_then(|old| {
                self.tell(Change {
                    old: Some(old),
                    new: None,
                })
            })
        });
        changes.collect()
    }

    /// The kind is gone, and all objects with it.
    pub(super) fn clear(&mut self) -> Vec<Change> {
        let objects = std::mem::take(&mut self.objects);
        let entries = objects.into_values().flat_map(BTreeMap::into_values);
        let olds = entries.filter_map(|entry| entry.object);
        let changes = olds
            .map(|old| Change {
                old: Some(old),
                new: None,
            })
            .collect();
        *self = Self {
            writes: std::mem::take(&mut self.writes),
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
        match answer {
            Answer::Object { object, own } => {
                if *own && let Some(write) = self.writes.get_mut(key) {
                    write.own.push(object.resource_version.clone());
                }
                self.observe(spec, object, *own);
            }
            Answer::Deleted(uid) => {
                if let Some(write) = self.writes.get_mut(key) {
                    write.deleted = Some(uid.clone());
                }
                self.forget_deleted(key, uid);
            }
            Answer::Version(version) => {
                if let Some(write) = self.writes.get_mut(key) {
                    write.own.push(version.clone());
                }
                self.expect(key, version);
            }
            Answer::Nothing => {}
        }
        let Some(write) = self.writes.get_mut(key) else {
            return Vec::new();
        };
        write.writers -= 1;
        if write.writers > 0 {
            return Vec::new();
        }
        let write = self.writes.remove(key).unwrap_or_default();
        let InFlight {
            held, own, deleted, ..
        } = write;
        let foreign = |change: &Change| match (&change.new, &change.old) {
            (Some(new), _) => !own.contains(&new.resource_version),
            (None, Some(old)) => deleted.as_ref() != Some(&old.uid),
            (None, None) => false,
        };
        held.into_iter().filter(foreign).collect()
    }

    /// Takes the answer to a write of ours, if it is news.
    fn observe(&mut self, spec: &Spec, object: &Arc<Object>, own: bool) {
        let (namespace, name) = (namespace_of(object), &*object.name);
        if !spec.labels.matches(|key| object.label(key)) {
            // It left the selection by our own hand; the event that says so is ours.
            let uid = object.uid.clone();
            self.forget_deleted(&key_of(object), &uid);
            return;
        }
        let held = self.get(namespace, name).cloned();
        let is_news = held
            .as_ref()
            .is_none_or(|held| compare(&object.resource_version, &held.resource_version).is_gt());
        // What changed nothing, but shows a version that the watch has not shown yet, is left to the
        // watch: the change is a foreign one, and must be told.
        if !is_news || !own {
            return;
        }
        let entry = self.entry_mut(namespace, name);
        let mut unseen = entry
            .and_then(|entry| entry.unseen.take())
            .unwrap_or_else(|| {
                Box::new(Unseen {
                    base: held,
                    ..Unseen::default()
                })
            });
        unseen.own.push(object.resource_version.clone());
        let kept = match spec.content {
            Content::Full => Arc::clone(object),
            Content::Metadata => Arc::new(object.metadata_only()),
        };
        self.put(kept, Some(unseen));
    }

    /// Remembers that a version which the watch has yet to show is ours.
    fn expect(&mut self, key: &Key, version: &str) {
        let Some(entry) = self.entry_mut(&key.0, &key.1) else {
            return;
        };
        let Some(held) = &entry.object else {
            return;
        };
        if compare(version, &held.resource_version).is_gt() {
            let base = Some(Arc::clone(held));
            let unseen = entry.unseen.get_or_insert_with(|| {
                Box::new(Unseen {
                    base,
                    ..Unseen::default()
                })
            });
            unseen.own.push(version.into());
        }
    }

    /// Forgets an object that we deleted, and remembers that we did.
    fn forget_deleted(&mut self, key: &Key, uid: &str) {
        let Some(entry) = self.entry_mut(&key.0, &key.1) else {
            return;
        };
        if entry
            .object
            .as_ref()
            .is_none_or(|object| *object.uid != *uid)
        {
            return;
        }
        let epoch = entry.epoch;
        self.remove(&key.0, &key.1);
        let unseen = Unseen {
            deleted: Some(uid.into()),
            ..Unseen::default()
        };
        let tombstone = Entry {
            object: None,
            epoch,
            unseen: Some(Box::new(unseen)),
            record: None,
        };
        let namespace = self.objects.entry(Arc::clone(&key.0)).or_default();
        namespace.insert(Arc::clone(&key.1), tombstone);
    }

    /// Takes a version that the watch shows, if it is news; says what changed for who follows it.
    fn merge(&mut self, new: Arc<Object>, relisted: bool) -> Option<Change> {
        self.see(&new.resource_version);
        let epoch = self.epoch;
        let (namespace, name) = (namespace_of(&new), &*new.name);
        let Some(entry) = self.entry_mut(namespace, name) else {
            self.put(Arc::clone(&new), None);
            return Some(Change {
                old: None,
                new: Some(new),
            });
        };
        entry.epoch = epoch;
        let deleted = entry
            .unseen
            .as_ref()
            .and_then(|unseen| unseen.deleted.as_ref());
        if deleted == Some(&new.uid) {
            return None;
        }
        let Some(held) = entry.object.clone() else {
            self.put(Arc::clone(&new), None);
            return Some(Change {
                old: None,
                new: Some(new),
            });
        };
        match compare(&new.resource_version, &held.resource_version) {
            Ordering::Less => entry.catch_up(new),
            Ordering::Equal => {
                // What a relist skips over may have been foreign: told, to be safe.
                let unseen = entry.unseen.take().filter(|_| relisted)?;
                Some(Change {
                    old: unseen.base,
                    new: Some(new),
                })
            }
            Ordering::Greater => {
                let unseen = entry.unseen.take().unwrap_or_default();
                let ours = unseen.own.contains(&new.resource_version);
                self.put(Arc::clone(&new), None);
                if ours && !relisted {
                    return None;
                }
                let old = unseen.base.filter(|_| relisted).unwrap_or(held);
                Some(Change {
                    old: Some(old),
                    new: Some(new),
                })
            }
        }
    }

    fn put(&mut self, object: Arc<Object>, unseen: Option<Box<Unseen>>) {
        self.see(&object.resource_version);
        let (namespace, name) = key_of(&object);
        let record = self
            .get(&namespace, &name)
            .filter(|held| held.uid == object.uid)
            .and_then(|held| self.record(namespace_of(held), &held.name));
        self.remove(&namespace, &name);
        self.count += 1;
        self.bytes += object.size();
        if let Some(uid) = object.owner_uid() {
            let key = (Arc::clone(&namespace), Arc::clone(&name));
            self.owners.entry(uid.into()).or_default().push(key);
        }
        let entry = Entry {
            object: Some(object),
            epoch: self.epoch,
            unseen,
            record,
        };
        self.objects
            .entry(namespace)
            .or_default()
            .insert(name, entry);
    }

    fn remove(&mut self, namespace: &str, name: &str) {
        self.version += 1;
        let Some(entries) = self.objects.get_mut(namespace) else {
            return;
        };
        let removed = entries.remove(name);
        if entries.is_empty() {
            self.objects.remove(namespace);
        }
        let Some(object) = removed.and_then(|entry| entry.object) else {
            return;
        };
        self.count -= 1;
        self.bytes -= object.size();
        if let Some(uid) = object.owner_uid()
            && let Some(keys) = self.owners.get_mut(uid)
        {
            keys.retain(|key| *key.0 != *namespace || *key.1 != *name);
            if keys.is_empty() {
                self.owners.remove(uid);
            }
        }
    }

    /// Tells a change, or keeps it while a write of ours is in flight.
    fn tell(&mut self, change: Change) -> Option<Change> {
        let object = change.new.as_ref().or(change.old.as_ref())?;
        if self.writes.is_empty() {
            return Some(change);
        }
        match self.writes.get_mut(&key_of(object)) {
            Some(write) => {
                write.held.push(change);
                None
            }
            None => Some(change),
        }
    }

    fn see(&mut self, version: &str) {
        if compare(version, &self.newest).is_gt() {
            self.newest = version.into();
        }
    }
}

impl Entry {
    /// An event older than what is held: one of our own, or a foreign one that came before it.
    fn catch_up(&mut self, new: Arc<Object>) -> Option<Change> {
        let unseen = self.unseen.as_mut()?;
        if unseen.own.contains(&new.resource_version) {
            unseen
                .own
                .retain(|version| *version != new.resource_version);
            unseen.base = Some(new);
            return None;
        }
        let old = unseen.base.replace(Arc::clone(&new));
        Some(Change {
            old,
            new: Some(new),
        })
    }
}
