//! Kinds that come and go: a metadata watch over the CRDs, from the first time that a kind is missed.

use std::sync::{Arc, Weak};

use super::Shared;
use super::watch::{Content, Listener, ObjectChange, Purpose, WatchSpec, WatchState};
use crate::model::Gvk;
use crate::model::selector::LabelSelector;

/// Tells discovery what the watch over CRDs saw.
pub(super) struct CrdListener {
    shared: Weak<Shared>,
    gvk: Gvk,
}

pub(super) fn crd_gvk() -> Gvk {
    Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

/// Starts the watch, if it is not there yet.
pub(super) fn start_watch(shared: &Shared) {
    shared.watches.watch(WatchSpec {
        gvk: crd_gvk(),
        namespace: None,
        labels: LabelSelector::default(),
        content: Content::Metadata,
        purpose: Purpose::Reference,
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
    fn changed(&self, spec: &WatchSpec, change: &ObjectChange) {
        if spec.gvk != self.gvk {
            return;
        }
        let crd = change.new.as_ref().or(change.old.as_ref());
        // A CRD is named `plural.group`.
        let group = crd.and_then(|crd| crd.name.split_once('.'));
        if let (Some((_, group)), Some(shared)) = (group, self.shared.upgrade()) {
            shared.discovery.invalidate_group(group);
        }
    }

    fn state_changed(&self, spec: &WatchSpec, state: &WatchState) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        if spec.gvk == self.gvk {
            shared
                .discovery
                .set_crds_watched(matches!(state, WatchState::Synced));
        } else if matches!(state, WatchState::KindAbsent) {
            start_watch(&shared);
        }
    }
}
