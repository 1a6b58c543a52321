//! A metadata watch on the CRDs, which opens when a kind is missed for the first time.

use std::sync::{Arc, Weak};

use super::Shared;
use super::watch::{Listener, ObjectChange, Scope, Watch, WatchState};
use crate::model::Gvk;

/// Passes changes of CRDs to discovery.
pub(super) struct CrdListener {
    shared: Weak<Shared>,
    gvk: Gvk,
}

pub(super) fn crd_gvk() -> Gvk {
    Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

/// Watches the CRDs from now on.
pub(super) fn subscribe(shared: &Shared) {
    shared.crds.get_or_init(|| {
        let scope = Scope {
            gvk: crd_gvk(),
            namespace: None,
        };
        let subscription = shared.watches.subscribe(scope.clone());
        shared.watches.reference_watch(&scope);
        subscription
    });
}

impl CrdListener {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            gvk: crd_gvk(),
        }
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
        if let (Some((_, group)), Some(shared)) = (group, self.shared.upgrade()) {
            shared.discovery.invalidate_group(group);
        }
    }

    fn state_changed(&self, watch: &Watch, state: &WatchState) {
        let spec = watch.spec();
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        if spec.gvk == self.gvk {
            shared
                .discovery
                .set_crds_watched(matches!(state, WatchState::Synced));
        } else if matches!(state, WatchState::KindAbsent) {
            subscribe(&shared);
        }
    }

    fn closed(&self, _watch: &Watch) {}
}
