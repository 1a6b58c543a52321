//! Kinds that come and go: a metadata watch over the CRDs, from the first time that a kind is missed.

use std::sync::{Arc, Weak};

use super::Shared;
use super::watch::{Change, Content, Listener, Purpose, Spec, State};
use crate::model::Gvk;
use crate::model::selector::LabelSelector;

/// Tells discovery what the watch over CRDs saw.
pub(super) struct Crds {
    shared: Weak<Shared>,
    gvk: Gvk,
}

pub(super) fn crd() -> Gvk {
    Gvk::new("apiextensions.k8s.io", "v1", "CustomResourceDefinition")
}

/// Starts the watch, if it is not there yet.
pub(super) fn watch(shared: &Shared) {
    shared.watches.watch(Spec {
        gvk: crd(),
        namespace: None,
        labels: LabelSelector::default(),
        content: Content::Metadata,
        purpose: Purpose::Reference,
    });
}

impl Crds {
    pub(super) fn new(shared: &Arc<Shared>) -> Self {
        Self {
            shared: Arc::downgrade(shared),
            gvk: crd(),
        }
    }
}

impl Listener for Crds {
    fn changed(&self, spec: &Spec, change: &Change) {
        if spec.gvk != self.gvk {
            return;
        }
        let crd = change.new.as_ref().or(change.old.as_ref());
        // A CRD is named `plural.group`.
        let group = crd.and_then(|crd| crd.name.split_once('.'));
        if let (Some((_, group)), Some(shared)) = (group, self.shared.upgrade()) {
            shared.discovery.forget(group);
        }
    }

    fn state_changed(&self, spec: &Spec, state: &State) {
        let Some(shared) = self.shared.upgrade() else {
            return;
        };
        if spec.gvk == self.gvk {
            shared
                .discovery
                .set_crds_watched(matches!(state, State::Synced));
        } else if matches!(state, State::KindAbsent) {
            watch(&shared);
        }
    }
}
