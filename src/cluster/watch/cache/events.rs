//! Events of the watch, in the order in which things happened.

use std::sync::Arc;

use super::{Cache, Key, compare, key_of};
use crate::cluster::watch::ObjectChange;
use crate::model::Object;

impl Cache {
    /// An ADDED or MODIFIED event.
    pub(in crate::cluster::watch) fn applied(
        &mut self,
        object: &Arc<Object>,
    ) -> Option<ObjectChange> {
        self.advance_shown(&object.resource_version);
        let key = key_of(object);
        let change = self.event(&key, object, Some(Arc::clone(object)));
        self.filter_deferred(change?, false)
    }

    /// A DELETED event.
    pub(in crate::cluster::watch) fn deleted(&mut self, object: &Object) -> Option<ObjectChange> {
        self.advance_shown(&object.resource_version);
        let key = key_of(object);
        let change = self.event(&key, object, None);
        self.filter_deferred(change?, false)
    }

    /// Returns the change that listeners hear of; `state` is the object, `None` once it is deleted.
    fn event(
        &mut self,
        key: &Key,
        event: &Object,
        state: Option<Arc<Object>>,
    ) -> Option<ObjectChange> {
        let (uid, version) = (&*event.uid, &*event.resource_version);
        let Some(entry) = self.entry_mut(&key.0, &key.1) else {
            self.set(key, Some(state.clone()?), None);
            return Some(ObjectChange {
                old: None,
                new: state,
            });
        };
        let held = entry.object.clone();
        let is_newer = held.as_ref().is_none_or(|held| {
            compare(version, &held.resource_version).is_gt()
                || (state.is_none() && *held.uid == *uid)
        });
        let Some(mut echo) = entry.pending.take() else {
            if !is_newer {
                return None;
            }
            self.set(key, state.clone(), None);
            return Some(ObjectChange {
                old: held,
                new: state,
            });
        };
        let by_us = echo.deletes(uid) || (state.is_some() && echo.has_version(version));
        let now = match (is_newer, &state) {
            (true, Some(_)) if echo.deletes(uid) => None,
            (true, state) => state.clone(),
            (false, _) => held,
        };
        if state.is_none() {
            echo.deleted.retain(|deleted| **deleted != *uid);
        }
        echo.own.retain(|own| compare(own, version).is_gt());
        let old = std::mem::replace(&mut echo.base, state.clone());
        self.set(key, now, Some(echo));
        let anything = old.is_some() || state.is_some();
        (anything && !by_us).then_some(ObjectChange { old, new: state })
    }
}
