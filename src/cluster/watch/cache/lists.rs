//! Lists: the state as of one version, of which what happened in between is not known.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::{Cache, Key, compare, key_of};
use crate::cluster::watch::ObjectChange;
use crate::model::Object;

impl Cache {
    /// Begins a list. `floor` is the newest version that the watch had shown when the list was requested.
    pub(in crate::cluster::watch) fn list_begins(&mut self, list_version: &str, floor: &str) {
        self.epoch = self.epoch.wrapping_add(1);
        self.restored = !floor.is_empty() && compare(list_version, floor).is_lt();
        if self.restored {
            self.shown = "".into();
        }
    }

    /// An item of the list.
    pub(in crate::cluster::watch) fn listed(
        &mut self,
        object: Arc<Object>,
    ) -> Option<ObjectChange> {
        let key = key_of(&object);
        if self.restored {
            self.set(&key, None, None);
        }
        let change = self.merge_listed(&key, object);
        let epoch = self.epoch;
        if let Some(entry) = self.entry_mut(&key.0, &key.1) {
            entry.epoch = epoch;
        }
        self.filter_deferred(change?, true)
    }

    fn merge_listed(&mut self, key: &Key, new: Arc<Object>) -> Option<ObjectChange> {
        let Some(entry) = self.entry_mut(&key.0, &key.1) else {
            self.set(key, Some(Arc::clone(&new)), None);
            return Some(ObjectChange {
                old: None,
                new: Some(new),
            });
        };
        if entry
            .pending
            .as_ref()
            .is_some_and(|echo| echo.deletes(&new.uid))
        {
            // The list is from before our deletion, which the watch will show.
            return None;
        }
        let held = entry.object.clone();
        let lags = held
            .as_ref()
            .is_some_and(|held| compare(&new.resource_version, &held.resource_version).is_lt());
        let echo = entry.pending.take();
        let was_behind = echo.is_some();
        let old = echo
            .as_ref()
            .map_or_else(|| held.clone(), |echo| echo.base.clone());
        if lags {
            let mut echo = echo.unwrap_or_default();
            echo.base = Some(Arc::clone(&new));
            self.set(key, held, Some(echo));
        } else {
            self.set(key, Some(Arc::clone(&new)), None);
        }
        let same = old
            .as_ref()
            .is_some_and(|old| old.resource_version == new.resource_version);
        let stale = lags && !was_behind;
        (!same && !stale).then_some(ObjectChange {
            old,
            new: Some(new),
        })
    }

    /// Ends a list. Removes the objects that it did not contain, unless this process wrote them since.
    pub(in crate::cluster::watch) fn list_ends(&mut self, list_version: &str) -> Vec<ObjectChange> {
        self.advance_shown(list_version);
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
            let change = self.remove_unlisted(&key, list_version);
            changes.extend(change.and_then(|change| self.filter_deferred(change, true)));
        }
        self.complete = true;
        self.restored = false;
        changes
    }

    /// Removes an object that the list did not name, unless this process wrote it since.
    fn remove_unlisted(&mut self, key: &Key, list_version: &str) -> Option<ObjectChange> {
        let restored = self.restored;
        let entry = self.entry_mut(&key.0, &key.1)?;
        let held = entry.object.clone();
        let echo = entry.pending.take();
        let by_us =
            |object: &Arc<Object>| echo.as_ref().is_some_and(|echo| echo.deletes(&object.uid));
        let shown = echo
            .as_ref()
            .map_or_else(|| held.clone(), |echo| echo.base.clone());
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
            let mut echo = echo.unwrap_or_default();
            echo.base = None;
            echo.deleted.clear();
            self.set(key, held, Some(echo));
        } else {
            self.set(key, None, None);
        }
        Some(ObjectChange {
            old: Some(gone?),
            new: None,
        })
    }

    /// The kind is gone, and all objects with it.
    pub(in crate::cluster::watch) fn clear(&mut self) -> Vec<ObjectChange> {
        let objects = std::mem::take(&mut self.objects);
        let entries = objects.into_values().flat_map(BTreeMap::into_values);
        let olds = entries.filter_map(|entry| entry.object);
        let gone = |old| ObjectChange {
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
