//! From changes in the cluster to entries in the queue (product C2).
//!
//! Called from the watches' tasks: nothing here waits. Our own writes do not come here at all; the
//! cluster's watches swallow them.

use std::sync::{Arc, Weak};

use super::index::News;
use super::kinds::Served;
use super::queue::Newer;
use super::seen::Seen;
use super::{Shared, child_change};
use crate::cluster::watch::{Change, Listener, Purpose, Spec, State};
use crate::model::owner::field_manager;
use crate::model::{Object, ObjectRef, Reason};
use crate::reconcile::status_digest;

/// Hears of changes for a controller, as long as that lives.
pub(super) struct Triggers(pub(super) Weak<Shared>);

impl Listener for Triggers {
    fn changed(&self, spec: &Spec, change: &Change) {
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
        shared.tell_readers(&reference, change);
    }

    fn state_changed(&self, spec: &Spec, state: &State) {
        if let Some(shared) = self.0.upgrade() {
            shared.health.watch(spec, state);
            match state {
                State::Synced => {
                    shared.listed.lock().insert(spec.clone());
                }
                State::KindAbsent => {
                    shared.listed.lock().remove(spec);
                }
                _ => {}
            }
            if spec.purpose == Purpose::Primary
                && let Some(served) = shared.kinds.of(&spec.gvk)
            {
                shared.open(&served);
            }
        }
    }
}

impl Shared {
    /// A backlog is worked off from the newest change on, so its kind starts when the list is whole.
    pub(super) fn open(&self, served: &Served) {
        if served.is_synced() {
            self.queue
                .set_limit(served.id, self.limit_of(&served.watch));
        }
    }

    fn primary_changed(self: &Arc<Self>, change: &Change) {
        let Some(served) = change
            .new
            .as_ref()
            .or(change.old.as_ref())
            .and_then(|object| self.kinds.of(&object.gvk))
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
    pub(super) fn observe(&self, served: &Served, cr: &Object) {
        let key = served.key(cr);
        let seen = Seen::of(cr, served.watch.watch_annotations);
        let digest = || status_digest(cr, &cr.value(), &field_manager(&cr.object_ref()));
        let news = self.index.lock().observe(&key, cr, seen, digest);
        let (reason, newer) = match news {
            News::Nothing => return,
            News::Generation => (Reason::Changed, Newer::Generation),
            News::Changed(Reason::Deleted) => (Reason::Deleted, Newer::Deletion),
            News::Changed(reason) => (reason, Newer::Content),
            News::Replaced => {
                self.queue.forget(&key);
                (Reason::Created, Newer::Deletion)
            }
            News::New if served.is_synced() => (Reason::Created, Newer::Deletion),
            News::New => (Reason::Startup, Newer::Deletion),
        };
        let reason = if cr.deleting { Reason::Deleted } else { reason };
        match reason {
            Reason::Deleted | Reason::Changed => {
                self.queue.supersede(&key, reason, rank(cr), newer);
            }
            _ => self.queue.add(&key, reason, rank(cr)),
        }
    }

    fn primary_gone(self: &Arc<Self>, served: &Arc<Served>, cr: &Arc<Object>) {
        let key = served.key(cr);
        self.forget(&key);
        // A watch with a selector says of a CR that leaves it the same as of one that is gone.
        if served.watch.selector.is_some() && !cr.details().finalizers.is_empty() {
            self.let_go(cr.object_ref(), cr.uid.clone());
        }
    }

    fn child_changed(&self, child: &ObjectRef, change: &Change) {
        if !child_change::matters(change) {
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
            self.tell_owner(uid, child, change);
        }
    }

    fn tell_owner(&self, uid: &str, child: &ObjectRef, change: &Change) {
        let Some(object) = change.new.as_ref().or(change.old.as_ref()) else {
            return;
        };
        let mut index = self.index.lock();
        let Some(key) = index.owner(uid).cloned() else {
            return;
        };
        let follows = self
            .kinds
            .get(key.kind)
            .is_some_and(|served| served.follows(object));
        if !follows {
            return;
        }
        if let Some(fight) = index.entry(&key).and_then(|entry| entry.fight.as_mut()) {
            fight.note_loss(child, change);
        }
        let reason = index.reason(&key, child, Reason::Child);
        drop(index);
        self.queue.add(&key, reason, 0);
    }

    fn tell_readers(&self, object: &ObjectRef, change: &Change) {
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
