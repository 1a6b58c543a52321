//! From changes in the cluster to entries in the queue (product C2).
//!
//! Called from the watches' tasks: nothing here waits. Our own writes do not come here at all; the
//! cluster's watches swallow them.

use std::sync::{Arc, Weak};

use super::change_predicate::TriggerState;
use super::index::ObservedChange;
use super::kinds::ServedKind;
use super::queue::Interruption;
use super::{Shared, child_change};
use crate::cluster::watch::{Listener, ObjectChange, Purpose, WatchSpec, WatchState};
use crate::model::owner::field_manager;
use crate::model::{Object, ObjectRef, Reason};
use crate::reconcile::status_digest;

/// Hears of changes for a controller, as long as that lives.
pub(super) struct Triggers(pub(super) Weak<Shared>);

impl Listener for Triggers {
    fn changed(&self, spec: &WatchSpec, change: &ObjectChange) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let Some(object) = change.new.as_ref().or(change.old.as_ref()) else {
            return;
        };
        let reference = object.object_ref();
        match spec.purpose {
            Purpose::Primary => shared.primary_changed(change),
            // A child that was there before its watch: the run that started the watch waits for the
            // list and looks for itself.
            Purpose::Children if !shared.listed.lock().contains(spec) => {}
            Purpose::Children => shared.child_changed(&reference, change),
            Purpose::Reference => {}
        }
        shared.trigger_subscribers(&reference, change);
    }

    fn state_changed(&self, spec: &WatchSpec, state: &WatchState) {
        if let Some(shared) = self.0.upgrade() {
            shared.health.set_state(spec, state);
            match state {
                WatchState::Synced => {
                    shared.listed.lock().insert(spec.clone());
                }
                WatchState::KindAbsent => {
                    shared.listed.lock().remove(spec);
                }
                _ => {}
            }
            if spec.purpose == Purpose::Primary
                && let Some(served) = shared.kinds.by_gvk(&spec.gvk)
            {
                shared.open_queue(&served);
            }
        }
    }
}

impl Shared {
    /// A backlog is worked off from the newest change on, so its kind starts when the list is whole.
    pub(super) fn open_queue(&self, served: &ServedKind) {
        if served.is_synced() {
            self.queue
                .set_limit(served.id, self.limit_of(&served.watch));
        }
    }

    fn primary_changed(self: &Arc<Self>, change: &ObjectChange) {
        let Some(served) = change
            .new
            .as_ref()
            .or(change.old.as_ref())
            .and_then(|object| self.kinds.by_gvk(&object.gvk))
        else {
            return;
        };
        match &change.new {
            Some(cr) => self.observe(&served, cr),
            None => {
                if let Some(old) = &change.old {
                    self.primary_gone(&served, old);
                }
            }
        }
    }

    /// Compares a version of a CR with what is known and queues it if that counts.
    pub(super) fn observe(&self, served: &ServedKind, cr: &Object) {
        let key = served.key(cr);
        let state = TriggerState::new(cr, served.watch.watch_annotations);
        let digest = || status_digest(cr, &cr.value(), &field_manager(&cr.object_ref()));
        let change = self.index.lock().observe(&key, cr, state, digest);
        let (reason, newer) = match change {
            ObservedChange::Unchanged => return,
            ObservedChange::Generation => (Reason::Changed, Interruption::Generation),
            ObservedChange::Changed(Reason::Deleted) => (Reason::Deleted, Interruption::Deletion),
            ObservedChange::Changed(reason) => (reason, Interruption::Content),
            ObservedChange::Replaced => {
                self.queue.forget(&key);
                (Reason::Created, Interruption::Deletion)
            }
            ObservedChange::New if served.is_synced() => (Reason::Created, Interruption::Deletion),
            ObservedChange::New => (Reason::Startup, Interruption::Deletion),
        };
        let reason = if cr.deleting { Reason::Deleted } else { reason };
        match reason {
            Reason::Deleted | Reason::Changed => {
                self.queue.supersede(&key, reason, rank(cr), newer);
            }
            _ => self.queue.add(&key, reason, rank(cr)),
        }
    }

    fn primary_gone(self: &Arc<Self>, served: &Arc<ServedKind>, cr: &Arc<Object>) {
        let key = served.key(cr);
        self.forget(&key);
        // A watch with a selector says of a CR that leaves it the same as of one that is gone.
        if served.watch.selector.is_some() && !cr.details().finalizers.is_empty() {
            self.release_finalizers(cr.object_ref(), cr.uid.clone());
        }
    }

    fn child_changed(&self, child: &ObjectRef, change: &ObjectChange) {
        if !child_change::is_relevant(change) {
            return;
        }
        let versions = [&change.old, &change.new];
        let mut owners: Vec<&str> = versions
            .into_iter()
            .flatten()
            .filter_map(|version| version.owner_uid())
            .collect();
        owners.dedup();
        for uid in owners {
            self.trigger_owner(uid, child, change);
        }
    }

    fn trigger_owner(&self, uid: &str, child: &ObjectRef, change: &ObjectChange) {
        let Some(object) = change.new.as_ref().or(change.old.as_ref()) else {
            return;
        };
        let mut index = self.index.lock();
        let Some(key) = index.owner(uid).cloned() else {
            return;
        };
        let follows = self
            .kinds
            .by_id(key.kind)
            .is_some_and(|served| served.watches_child(object));
        if !follows {
            return;
        }
        if let Some(fight) = index.entry(&key).and_then(|entry| entry.conflict.as_mut()) {
            fight.note_loss(child, change);
        }
        let reason = index.reason(&key, child, Reason::Child);
        drop(index);
        self.queue.add(&key, reason, 0);
    }

    fn trigger_subscribers(&self, object: &ObjectRef, change: &ObjectChange) {
        let index = self.index.lock();
        let readers = index.readers(object, change);
        let readers: Vec<_> = readers
            .into_iter()
            .map(|key| {
                let reason = index.reason(&key, object, Reason::Read);
                (key, reason)
            })
            .collect();
        drop(index);
        for (key, reason) in readers {
            self.queue.add(&key, reason, 0);
        }
    }
}

/// Resource versions grow with every change in the cluster: the highest is the newest.
fn rank(cr: &Object) -> u64 {
    cr.resource_version.parse().unwrap_or_default()
}
