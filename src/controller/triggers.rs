//! Triggers: turns changes in the cluster into entries of the queue.
//!
//! The tasks of the watches call this module, so nothing here waits. The caches report no change that this
//! process made itself.

use std::sync::{Arc, Weak};

use super::change_predicate::TriggerState;
use super::child_change;
use super::index::ObservedChange;
use super::kinds::ServedKind;
use super::queue::{Interruption, Key};
use super::shared::Shared;
use crate::cluster::watch::{Listener, ObjectChange, Purpose, Scope, Watch, WatchSpec, WatchState};
use crate::model::owner::field_manager;
use crate::model::{Object, ObjectRef, Reason};
use crate::reconcile::status_digest;

/// Passes changes to a controller while it exists.
pub(super) struct Triggers(pub(super) Weak<Shared>);

impl Listener for Triggers {
    fn changed(&self, watch: &Watch, change: &ObjectChange) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        let Some(object) = change.new.as_ref().or(change.old.as_ref()) else {
            return;
        };
        let reference = object.object_ref();
        let is_listed = || shared.listed.lock().contains(&watch.id());
        match watch.spec().purpose {
            Purpose::Primary => shared.primary_changed(change),
            // The object was there before its watch: the run that started the watch waits for the list
            // and looks for itself.
            Purpose::Children if !is_listed() => {}
            Purpose::Children => shared.child_changed(&reference, change),
            // Reads before the list is complete are compared with the list.
            Purpose::Reference if !is_listed() => return,
            Purpose::Reference => {}
        }
        shared.trigger_subscribers(&reference, change);
    }

    fn state_changed(&self, watch: &Watch, state: &WatchState) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        shared.health.set_state(watch, state);
        match state {
            WatchState::Synced => shared.watch_synced(watch),
            WatchState::KindAbsent => {
                shared.listed.lock().remove(&watch.id());
                shared.absent.lock().insert(watch.id());
            }
            _ => {}
        }
        if watch.spec().purpose == Purpose::Primary
            && let Some(served) = shared.kinds.by_gvk(&watch.spec().gvk)
        {
            shared.open_queue(&served);
        }
    }

    fn closed(&self, watch: &Watch) {
        let Some(shared) = self.0.upgrade() else {
            return;
        };
        shared.health.remove(watch);
        shared.listed.lock().remove(&watch.id());
        shared.absent.lock().remove(&watch.id());
        // Reads that this watch answered have no other watch. The next run opens one.
        if watch.spec().purpose != Purpose::Reference {
            shared.trigger_scope(watch.spec());
        }
    }
}

impl Shared {
    /// Starts a kind when its list is complete, so that its backlog can start with the newest change.
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

    /// Compares a version of a CR with the known one, and queues the CR if the change triggers a run.
    pub(super) fn observe(&self, served: &ServedKind, cr: &Object) {
        let key = served.key(cr);
        let state = TriggerState::new(cr, served.watch.watch_annotations);
        let (change, former) = self.index.write().observe(&key, cr, state);
        drop(former);
        let (reason, newer) = match change {
            // Not under the lock, because the digest parses the object.
            ObservedChange::Unchanged { has_status: true } if self.is_status_drift(&key, cr) => {
                (Reason::Child, Interruption::Content)
            }
            ObservedChange::Unchanged { .. } => return,
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

    fn is_status_drift(&self, key: &Key, cr: &Object) -> bool {
        let digest = status_digest(cr, &cr.value(), &field_manager(&cr.object_ref()));
        self.index.read().is_status_drift(key, &cr.uid, digest)
    }

    /// Compares the reads of runs with a reference watch that became complete.
    fn watch_synced(&self, watch: &Watch) {
        let is_new = self.listed.lock().insert(watch.id());
        let was_absent = self.absent.lock().remove(&watch.id());
        let spec = watch.spec();
        if spec.purpose != Purpose::Reference {
            return;
        }
        if was_absent {
            self.trigger_scope(spec);
        } else if is_new {
            for (key, reads) in self.index.read().scope_subscribers(&scope(spec)) {
                if self.context.cluster.is_stale(&reads, &[]) {
                    self.queue.add(&key, Reason::Read, 0);
                }
            }
        }
    }

    /// Triggers all custom resources whose last run read in the scope of a watch.
    fn trigger_scope(&self, spec: &WatchSpec) {
        let subscribers = self.index.read().scope_subscribers(&scope(spec));
        for (key, _) in subscribers {
            self.queue.add(&key, Reason::Read, 0);
        }
    }

    fn primary_gone(self: &Arc<Self>, served: &Arc<ServedKind>, cr: &Arc<Object>) {
        let key = served.key(cr);
        self.forget(&key);
        // A watch with a selector reports a CR that it no longer selects as deleted.
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
        let Some(key) = self.index.read().owner(uid).cloned() else {
            return;
        };
        let is_watched = self
            .kinds
            .by_id(key.kind)
            .is_some_and(|served| served.watches_child(object));
        if !is_watched {
            return;
        }
        self.record_loss(&key, child, change);
        let reason = self.index.read().reason(&key, child, Reason::Child);
        self.queue.add(&key, reason, 0);
    }

    fn trigger_subscribers(&self, object: &ObjectRef, change: &ObjectChange) {
        let subscribers: Vec<_> = {
            let index = self.index.read();
            let keys = index.subscribers(object, change).into_iter();
            keys.map(|key| {
                let reason = index.reason(&key, object, Reason::Read);
                (key, reason)
            })
            .collect()
        };
        for (key, reason) in subscribers {
            self.queue.add(&key, reason, 0);
        }
    }
}

fn scope(spec: &WatchSpec) -> Scope {
    Scope {
        gvk: spec.gvk.clone(),
        namespace: spec.namespace.clone(),
    }
}

/// Resource versions grow with every change in the cluster: the highest is the newest.
fn rank(cr: &Object) -> u64 {
    cr.resource_version.parse().unwrap_or_default()
}
