//! Events of the watch, in the order in which things happened.

use std::sync::Arc;

use super::{Key, Store, compare, key_of};
use crate::cluster::watch::Change;
use crate::model::Object;

impl Store {
    /// An ADDED or MODIFIED event.
    pub(in crate::cluster::watch) fn applied(&mut self, object: &Arc<Object>) -> Option<Change> {
        self.show(&object.resource_version);
        let key = key_of(object);
        let change = self.event(&key, object, Some(Arc::clone(object)));
        self.tell(change?, false)
    }

    /// A DELETED event.
    pub(in crate::cluster::watch) fn deleted(&mut self, object: &Object) -> Option<Change> {
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
}
