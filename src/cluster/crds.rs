//! A metadata watch on the CRDs, which opens when a kind is missing for the first time.

use std::sync::{Arc, OnceLock, Weak};

use super::discovery::Discovery;
use super::watch::{Listener, ObjectChange, Scope, Subscription, Watch, WatchRegistry, WatchState};
use crate::model::Gvk;

/// The watch on the CRDs.
pub(super) struct CrdWatch {
    discovery: Arc<Discovery>,
    watches: Arc<WatchRegistry>,
    subscription: OnceLock<Subscription>,
}

/// A listener that passes changes of CRDs to discovery.
struct CrdListener {
    crds: Weak<CrdWatch>,
    gvk: Gvk,
}

/// Returns the kind of CRDs.
pub(super) fn crd_gvk() -> Gvk {
    Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

impl CrdWatch {
    /// Creates a watch that opens with [`CrdWatch::open`].
    pub(super) fn new(discovery: &Arc<Discovery>, watches: &Arc<WatchRegistry>) -> Arc<Self> {
        let crds = Arc::new(Self {
            discovery: Arc::clone(discovery),
            watches: Arc::clone(watches),
            subscription: OnceLock::new(),
        });
        watches.listen(Arc::new(CrdListener {
            crds: Arc::downgrade(&crds),
            gvk: crd_gvk(),
        }));
        crds
    }

    /// Watches the CRDs from now on.
    pub(super) fn open(&self) {
        self.subscription.get_or_init(|| {
            let scope = Scope {
                gvk: crd_gvk(),
                namespace: None,
            };
            let subscription = self.watches.subscribe(scope.clone());
            self.watches.reference_watch(&scope);
            subscription
        });
    }
}

impl Listener for CrdListener {
    fn changed(&self, watch: &Watch, change: &ObjectChange) {
        if watch.spec().gvk != self.gvk {
            return;
        }
        let crd = change.new.as_ref().or(change.old.as_ref());
        // A CRD is named `plural.group`.
        let group = crd.and_then(|crd| crd.name.split_once('.'));
        if let (Some((_, group)), Some(crds)) = (group, self.crds.upgrade()) {
            crds.discovery.invalidate_group(group);
        }
    }

    fn state_changed(&self, watch: &Watch, state: &WatchState) {
        let spec = watch.spec();
        let Some(crds) = self.crds.upgrade() else {
            return;
        };
        if spec.gvk == self.gvk {
            crds.discovery
                .set_crds_watched(matches!(state, WatchState::Synced));
        } else if matches!(state, WatchState::KindAbsent) {
            crds.open();
        }
    }

    fn closed(&self, _watch: &Watch) {}
}
