//! Our own writes: held back while in flight, taken with their answer, known again in events.

use std::sync::Arc;

use super::in_flight::{DeferredChange, InFlightWrites, WriteResult};
use super::{Cache, Key, PendingEcho, compare};
use crate::cluster::watch::{Content, ObjectChange, WatchSpec};
use crate::model::Object;

impl Cache {
    /// A write of ours is on its way.
    pub(in crate::cluster::watch) fn write_begins(&mut self, key: &Key) {
        self.writes.entry(key.clone()).or_default().writers += 1;
    }

    /// The write has its answer; the changes are those that were held back and are not our own.
    pub(in crate::cluster::watch) fn write_ends(
        &mut self,
        key: &Key,
        spec: &WatchSpec,
        answer: &WriteResult,
    ) -> Vec<ObjectChange> {
        let write = self.writes.entry(key.clone()).or_default();
        match answer {
            WriteResult::Object { object, own: true } => {
                write.own.push(object.resource_version.clone());
                self.observe(key, spec, object);
            }
            WriteResult::Deleted(uid) => {
                write.deleted.push(uid.clone());
                self.forget(key, uid);
            }
            WriteResult::Version(version) => {
                write.own.push(version.clone());
                self.expect_echo(key, version);
            }
            // The write changed nothing. If the watch has not shown the version in the response yet, the change
            // is foreign, and the watch must report it.
            WriteResult::Object { own: false, .. } | WriteResult::Nothing => {}
        }
        let write = self.writes.entry(key.clone()).or_default();
        write.writers = write.writers.saturating_sub(1);
        if write.writers > 0 {
            return Vec::new();
        }
        let InFlightWrites {
            deferred: held,
            own,
            deleted,
            ..
        } = self.writes.remove(key).unwrap_or_default();
        let foreign = |held: &DeferredChange| {
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

    /// Stores the response to a write of this process, unless the watch has already shown that version.
    fn observe(&mut self, key: &Key, spec: &WatchSpec, object: &Arc<Object>) {
        if !spec.labels.matches(|key| object.label(key)) {
            // This write removed the object from the selection, so that the deletion event is an echo of it.
            self.forget(key, &object.uid);
            return;
        }
        if !compare(&object.resource_version, &self.shown).is_gt() {
            self.record_missed_deletion(key, object);
            return;
        }
        let entry = self.entry_mut(&key.0, &key.1);
        let (held, echo) = entry.map_or((None, None), |entry| {
            (entry.object.clone(), entry.pending.take())
        });
        let mut echo = echo.unwrap_or_else(|| Box::new(PendingEcho::after(held.clone())));
        echo.own.push(object.resource_version.clone());
        let is_newer = held
            .as_ref()
            .is_none_or(|held| compare(&object.resource_version, &held.resource_version).is_gt());
        let kept = match spec.content {
            _ if !is_newer => held,
            Content::Full => Some(Arc::clone(object)),
            Content::Metadata => Some(Arc::new(object.metadata_only())),
        };
        self.set(key, kept, Some(echo));
    }

    /// Reports a deletion that the watch has shown before the response to the write arrived.
    fn record_missed_deletion(&mut self, key: &Key, object: &Arc<Object>) {
        let write = self.writes.entry(key.clone()).or_default();
        let told = write.deferred.iter().any(|held| held.change.new.is_none());
        if !told && self.get(&key.0, &key.1).is_none() {
            let change = ObjectChange {
                old: Some(Arc::clone(object)),
                new: None,
            };
            let held = DeferredChange {
                change,
                skipped: true,
            };
            self.writes
                .entry(key.clone())
                .or_default()
                .deferred
                .push(held);
        }
    }

    /// Remembers that a version which the watch has yet to show is ours.
    fn expect_echo(&mut self, key: &Key, version: &str) {
        if !compare(version, &self.shown).is_gt() {
            return;
        }
        if let Some(entry) = self.entry_mut(&key.0, &key.1) {
            let held = entry.object.clone();
            let echo = entry
                .pending
                .get_or_insert_with(|| Box::new(PendingEcho::after(held)));
            echo.own.push(version.into());
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
        let mut echo = entry
            .pending
            .take()
            .unwrap_or_else(|| Box::new(PendingEcho::after(held)));
        echo.deleted.push(uid.into());
        self.set(key, None, Some(echo));
    }
}
