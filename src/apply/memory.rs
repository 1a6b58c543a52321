//! What this process remembers of its applies, beside the caches of the cluster.
//!
//! Memos of children lie in the cache beside the child and go with it ([`crate::cluster::Cluster::record`]). Here
//! is what no cache of children holds: memos of objects that we apply and do not own, and which
//! children were made a moment ago.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use super::memo::Memo;
use crate::clock::{self, Instant};
use crate::model::ObjectRef;

/// A child that is gone again within this time of its making was made for an owner that is gone:
/// the garbage collector needs a second or two. Beyond, a loop would be slow enough to do no harm.
const JUST_MADE: Duration = Duration::from_secs(10);

/// What this process remembers of its applies. Clones share it.
#[derive(Clone, Default)]
pub struct Memory(Arc<Mutex<Inner>>);

#[derive(Default)]
struct Inner {
    /// By field manager, so that a custom resource's are forgotten in one step.
    memos: HashMap<Box<str>, HashMap<ObjectRef, Arc<Memo>>>,
    /// Children made since `turned`, and in the period before.
    made: [HashSet<ObjectRef>; 2],
    turned: Option<Instant>,
}

impl Memory {
    /// Forgets a custom resource that is gone, by its field manager.
    pub fn forget(&self, manager: &str) {
        self.0.lock().memos.remove(manager);
    }

    pub(super) fn memo(&self, manager: &str, object: &ObjectRef) -> Option<Arc<Memo>> {
        self.0.lock().memos.get(manager)?.get(object).cloned()
    }

    pub(super) fn remember(&self, manager: &str, object: &ObjectRef, memo: Arc<Memo>) {
        let mut inner = self.0.lock();
        let memos = inner.memos.entry(manager.into()).or_default();
        memos.insert(object.clone(), memo);
    }

    /// Notes that a child was made.
    pub(super) fn made(&self, object: &ObjectRef) {
        let mut inner = self.0.lock();
        inner.turn();
        inner.made[0].insert(object.clone());
    }

    /// Returns whether a child was made a moment ago.
    pub(super) fn was_just_made(&self, object: &ObjectRef) -> bool {
        let mut inner = self.0.lock();
        inner.turn();
        inner.made.iter().any(|made| made.contains(object))
    }
}

impl Inner {
    /// Two halves that take turns: what was made is remembered for one to two periods.
    fn turn(&mut self) {
        let now = clock::now();
        let age = self.turned.map(|turned| now.duration_since(turned));
        match age {
            Some(age) if age < JUST_MADE => return,
            Some(age) if age < 2 * JUST_MADE => {
                self.made.swap(0, 1);
                self.made[0].clear();
            }
            _ => self.made.iter_mut().for_each(HashSet::clear),
        }
        self.turned = Some(now);
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
        let memory = Memory::default();
        memory.made(&child("a"));
        assert!(memory.was_just_made(&child("a")));
        assert!(!memory.was_just_made(&child("b")));
        tokio::time::advance(JUST_MADE + JUST_MADE / 2).await;
        assert!(memory.was_just_made(&child("a")));
        memory.made(&child("b"));
        tokio::time::advance(JUST_MADE).await;
        assert!(!memory.was_just_made(&child("a")));
        assert!(memory.was_just_made(&child("b")));
    }
}
