//! Lists: the state as of one version, of which what happened in between is not known.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Key, Store, compare, key_of};
use crate::cluster::watch::Change;
use crate::model::Object;

impl Store {
    /// A list begins that was asked for when `floor` was the newest version seen.
    pub(in crate::cluster::watch) fn list_begins(&mut self, list_version: &str, floor: &str) {
        self.epoch = self.epoch.wrapping_add(1);
        self.restored = !floor.is_empty() && compare(list_version, floor).is_lt();
        if self.restored {
            self.shown = "".into();
        }
    }

    /// An item of the list.
    pub(in crate::cluster::watch) fn listed(&mut self, object: Arc<Object>) -> Option<Change> {
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
    pub(in crate::cluster::watch) fn list_ends(&mut self, list_version: &str) -> Vec<Change> {
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
    pub(in crate::cluster::watch) fn clear(&mut self) -> Vec<Change> {
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
}
