//! Watches: each keeps a cache of what it selects and tells listeners of changes.
//!
//! # Guarantees
//! - A listener hears of every change that lasts, deletions during a lost connection included.
//! - It does not hear of our own writes, whichever of answer and event comes first; a foreign change
//!   between our view and our write is heard.
//! - A cache never goes back: the newer resource version wins.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use crate::clock::Instant;
use crate::cluster::Error;
use crate::model::selector::LabelSelector;
use crate::model::{Gvk, Object};

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Spec {
    /// Objects of this kind,
    pub gvk: Gvk,
    /// in this namespace, or in all,
    pub namespace: Option<Arc<str>>,
    /// with these labels.
    pub labels: LabelSelector,
    /// How much of them is kept.
    pub content: Content,
    /// What for.
    pub purpose: Purpose,
}

/// How much of an object a watch keeps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Content {
    /// All of it.
    Full,
    /// Name, uid, versions and labels: the objects have an empty body.
    Metadata,
}

/// What a watch is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Purpose {
    /// Custom resources to reconcile.
    Primary,
    /// Objects that carry the owner label.
    Children,
    /// Objects that runs read.
    Reference,
}

/// How a watch is doing.
#[derive(Clone, Debug, Default)]
pub enum State {
    /// Not synced yet.
    #[default]
    Starting,
    /// The cache is complete and follows the server.
    Synced,
    /// We may not list or watch.
    Forbidden(Error),
    /// The cluster does not serve the kind; the watch waits for it.
    KindAbsent,
    /// It does not work, and is tried again.
    Failing {
        /// Since when.
        since: Instant,
        /// The last failure.
        error: Error,
    },
}

/// A change that a watch saw.
#[derive(Clone, Debug)]
pub struct Change {
    /// The object before, `None` if it is new.
    pub old: Option<Arc<Object>>,
    /// The object now, `None` if it is gone.
    pub new: Option<Arc<Object>>,
}

/// Hears of changes, from the watch's task: quick and without blocking.
pub trait Listener: Send + Sync {
    /// An object came, changed or went; not by our own hand.
    fn changed(&self, spec: &Spec, change: &Change);
    /// The watch is doing better or worse.
    fn state_changed(&self, spec: &Spec, state: &State);
}

/// A running watch and its cache.
pub struct Watch {
    spec: Spec,
}

impl Watch {
    /// What is watched.
    pub fn spec(&self) -> &Spec {
        &self.spec
    }

    /// Waits until the cache is complete. Ends with an error where that cannot be (forbidden, the
    /// kind is absent); a server that is away is waited for.
    pub async fn synced(&self) -> Result<(), Error> {
        todo!()
    }

    /// The object, if the cache holds it.
    pub fn get(&self, namespace: Option<&str>, name: &str) -> Option<Arc<Object>> {
        let _ = (namespace, name);
        None
    }

    /// The objects with these labels, by namespace and name.
    pub fn list(&self, namespace: Option<&str>, labels: &LabelSelector) -> Vec<Arc<Object>> {
        let _ = (namespace, labels);
        Vec::new()
    }

    /// The objects with this owner label.
    pub fn owned_by(&self, owner_uid: &str) -> Vec<Arc<Object>> {
        let _ = owner_uid;
        Vec::new()
    }

    /// How many objects the cache holds.
    pub fn len(&self) -> usize {
        0
    }

    /// Whether the cache holds nothing.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How it is doing.
    pub fn state(&self) -> State {
        State::Starting
    }

    /// How long ago its task last gave a sign of life; beyond [`Watch::silence_bound`] it is stuck.
    pub fn idle(&self) -> Duration {
        Duration::ZERO
    }

    /// The longest time that a healthy task gives no sign of life.
    pub fn silence_bound(&self) -> Duration {
        Duration::MAX
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Watch").field(&self.spec).finish()
    }
}
