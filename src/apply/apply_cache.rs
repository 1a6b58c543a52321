//! The apply results that no cache of the cluster holds.
//!
//! The last apply of a child is stored with the child in the cluster's cache
//! ([`crate::cluster::Cluster::record`]). This cache contains the last applies of objects that the
//! custom resource does not own, and the recently created children.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::last_applied::LastApplied;
use crate::clock::{self, Instant};
use crate::model::ObjectRef;

/// If a child disappears within this time after its creation, its owner probably no longer exists: the
/// garbage collector needs a second or two. A loop with longer pauses does no harm.
const RECENT: Duration = Duration::from_secs(10);

/// The apply results of this process. Clones share it.
#[derive(Clone, Default)]
pub struct ApplyCache(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// By field manager, so that all entries of a custom resource are removed in one step.
    last_applied: HashMap<Box<str>, HashMap<ObjectRef, Arc<LastApplied>>>,
    /// Children created since `rotated_at`, and in the period before.
    created: [HashSet<ObjectRef>; 2],
    rotated_at: Option<Instant>,
}

impl ApplyCache {
    /// Removes all entries of a field manager, for a custom resource that no longer exists.
    pub fn forget(&self, manager: &str) {
        self.0.lock().last_applied.remove(manager);
    }

    pub(super) fn last_applied(
        &self,
        manager: &str,
        object: &ObjectRef,
    ) -> Option<Arc<LastApplied>> {
        self.0
            .lock()
            .last_applied
            .get(manager)?
            .get(object)
            .cloned()
    }

    pub(super) fn store(&self, manager: &str, object: &ObjectRef, memo: Arc<LastApplied>) {
        let mut inner = self.0.lock();
        let memos = inner.last_applied.entry(manager.into()).or_default();
        memos.insert(object.clone(), memo);
    }

    /// Records the creation of a child.
    pub(super) fn record_creation(&self, object: &ObjectRef) {
        let mut inner = self.0.lock();
        inner.rotate();
        inner.created[0].insert(object.clone());
    }

    /// Returns whether a child was created recently.
    pub(super) fn was_recently_created(&self, object: &ObjectRef) -> bool {
        let mut inner = self.0.lock();
        inner.rotate();
        inner.created.iter().any(|made| made.contains(object))
    }
}

impl Inner {
    /// Rotates the two sets of created children. An entry stays for one to two periods.
    fn rotate(&mut self) {
        let now = clock::now();
        let age = self.rotated_at.map(|turned| now.duration_since(turned));
        match age {
            Some(age) if age < RECENT => return,
            Some(age) if age < 2 * RECENT => {
                self.created.swap(0, 1);
                self.created[0].clear();
            }
            _ => self.created.iter_mut().for_each(HashSet::clear),
        }
        self.rotated_at = Some(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gvk;

    fn child(name: &str) -> ObjectRef {
        ObjectRef::new(Gvk::new("", "v1", "ConfigMap"), Some("n"), name)
    }

    #[tokio::test(start_paused = true)]
    async fn recent_creates_are_remembered_for_a_limited_time() {
        let cache = ApplyCache::default();
        cache.record_creation(&child("a"));
        assert!(cache.was_recently_created(&child("a")));
        assert!(!cache.was_recently_created(&child("b")));
        tokio::time::advance(RECENT + RECENT / 2).await;
        assert!(cache.was_recently_created(&child("a")));
        cache.record_creation(&child("b"));
        tokio::time::advance(RECENT).await;
        assert!(!cache.was_recently_created(&child("a")));
        assert!(cache.was_recently_created(&child("b")));
    }
}
