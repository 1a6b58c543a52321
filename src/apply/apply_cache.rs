//! What this process remembers of its applies, beside the caches of the cluster.
//!
//! Memos of children lie in the cache beside the child and go with it ([`crate::cluster::Cluster::record`]). Here
//! is what no cache of children holds: memos of objects that we apply and do not own, and which
//! children were made a moment ago.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::last_applied::LastApplied;
use crate::clock::{self, Instant};
use crate::model::ObjectRef;

/// A child that is gone again within this time of its making was made for an owner that is gone:
/// the garbage collector needs a second or two. Beyond, a loop would be slow enough to do no harm.
const RECENT: Duration = Duration::from_secs(10);

/// What this process remembers of its applies. Clones share it.
#[derive(Clone, Default)]
pub struct ApplyCache(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// By field manager, so that a custom resource's are forgotten in one step.
    last_applied: HashMap<Box<str>, HashMap<ObjectRef, Arc<LastApplied>>>,
    /// Children made since `turned`, and in the period before.
    created: [HashSet<ObjectRef>; 2],
    rotated_at: Option<Instant>,
}

impl ApplyCache {
    /// Forgets a custom resource that is gone, by its field manager.
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

    /// Notes that a child was made.
    pub(super) fn record_creation(&self, object: &ObjectRef) {
        let mut inner = self.0.lock();
        inner.rotate();
        inner.created[0].insert(object.clone());
    }

    /// Returns whether a child was made a moment ago.
    pub(super) fn was_recently_created(&self, object: &ObjectRef) -> bool {
        let mut inner = self.0.lock();
        inner.rotate();
        inner.created.iter().any(|made| made.contains(object))
    }
}

impl Inner {
    /// Two halves that take turns: what was made is remembered for one to two periods.
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
    async fn what_was_made_is_remembered_for_a_while() {
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
