//! Readiness of the watches.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::cluster::Cluster;
use crate::cluster::watch::{Purpose, Watch, WatchId, WatchSpec, WatchState};
use crate::telemetry::metrics;
use crate::telemetry::readiness::{self, Part};
use crate::telemetry::{Metrics, Readiness, Watchdog};

/// The parts of the readiness, one per watch.
pub(super) struct WatchHealth {
    readiness: Readiness,
    parts: Mutex<HashMap<WatchId, Part>>,
}

impl WatchHealth {
    pub(super) fn new(readiness: Readiness) -> Self {
        Self {
            readiness,
            parts: Mutex::default(),
        }
    }

    /// Sets the part of a watch.
    pub(super) fn set_state(&self, watch: &Watch, state: &WatchState) {
        self.set_part(watch.id(), watch.spec(), state);
    }

    fn set_part(&self, id: WatchId, spec: &WatchSpec, state: &WatchState) {
        let state = readiness_of(spec.purpose, state);
        match self.parts.lock().entry(id) {
            Entry::Occupied(part) => part.get().set(state),
            Entry::Vacant(part) => {
                part.insert(self.readiness.part(&watch_name(spec), state));
            }
        }
    }

    /// Removes the part of a watch that was closed.
    pub(super) fn remove(&self, watch: &Watch) {
        self.parts.lock().remove(&watch.id());
    }
}

/// Returns the readiness for the state of a watch. The operator needs its custom resources and, to revert
/// drift, their children. Runs report references that they cannot read.
fn readiness_of(purpose: Purpose, state: &WatchState) -> readiness::PartState {
    let blocks = purpose != Purpose::Reference;
    match state {
        WatchState::Synced => readiness::PartState::Ready,
        WatchState::KindAbsent => {
            readiness::PartState::Noted("the kind is not installed".to_owned())
        }
        WatchState::Starting if purpose == Purpose::Primary => {
            readiness::PartState::NotReady("not synced yet".to_owned())
        }
        WatchState::Starting => readiness::PartState::Noted("not synced yet".to_owned()),
        WatchState::Forbidden(error) if purpose == Purpose::Primary => {
            readiness::PartState::NotReady(error.to_string())
        }
        WatchState::Failing { error, .. } if blocks => {
            readiness::PartState::NotReady(error.to_string())
        }
        WatchState::Forbidden(error) | WatchState::Failing { error, .. } => {
            readiness::PartState::Noted(error.to_string())
        }
    }
}

fn watch_name(spec: &WatchSpec) -> String {
    let purpose = purpose_label(spec.purpose);
    let kind = spec.gvk.kind_group();
    match &spec.namespace {
        Some(namespace) => format!("{purpose} watch of {kind} in {namespace}"),
        None => format!("{purpose} watch of {kind}"),
    }
}

fn purpose_label(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Primary => "primary",
        Purpose::Children => "children",
        Purpose::Reference => "reference",
    }
}

fn state_label(state: &WatchState) -> &'static str {
    match state {
        WatchState::Starting => "starting",
        WatchState::Synced => "synced",
        WatchState::Forbidden(_) => "forbidden",
        WatchState::KindAbsent => "absent",
        WatchState::Failing { .. } => "failing",
    }
}

/// Registers a cluster's watches and caches with the metrics and the watchdog.
pub(super) fn register_probes(cluster: &Cluster, metrics: &Metrics, watchdog: &Watchdog) {
    let of = cluster.clone();
    metrics.before_scrape(move |metrics| {
        let watches = of.watches();
        let mut objects: HashMap<String, usize> = HashMap::new();
        for watch in &watches {
            *objects.entry(watch.spec().gvk.kind_group()).or_default() += watch.len();
        }
        metrics.cached(objects, of.cached_bytes());
        metrics.watch_states(watches.iter().map(|watch| metrics::WatchState {
            kind: watch.spec().gvk.kind_group().into(),
            purpose: purpose_label(watch.spec().purpose),
            state: state_label(&watch.state()),
        }));
    });
    let of = cluster.clone();
    watchdog.probe(move || {
        let watches = of.watches();
        let stuck = watches
            .iter()
            .filter(|watch| watch.idle() > watch.silence_bound());
        stuck
            .map(|watch: &Arc<Watch>| watch_name(watch.spec()).into())
            .collect()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::watch::Content;
    use crate::model::Gvk;
    use crate::model::selector::LabelSelector;

    fn mk_spec(purpose: Purpose) -> WatchSpec {
        WatchSpec {
            gvk: Gvk::new("g", "v1", "K"),
            namespace: Some("ns".into()),
            labels: LabelSelector::default(),
            content: Content::Full,
            purpose,
        }
    }

    #[test]
    fn an_absent_kind_is_named_and_does_not_block() {
        let readiness = Readiness::default();
        let health = WatchHealth::new(readiness.clone());
        let spec = mk_spec(Purpose::Primary);
        let id = WatchId::default();
        health.set_part(id, &spec, &WatchState::Starting);
        assert!(!readiness.is_ready());
        health.set_part(id, &spec, &WatchState::KindAbsent);
        assert!(readiness.is_ready());
        let (name, state) = readiness.parts().remove(0);
        assert_eq!(&*name, "primary watch of K.g in ns");
        assert_eq!(
            state,
            readiness::PartState::Noted("the kind is not installed".to_owned())
        );
        drop(health);
        assert!(readiness.parts().is_empty());
    }

    #[test]
    fn a_watch_that_starts_in_a_run_does_not_block() {
        let readiness = Readiness::default();
        let health = WatchHealth::new(readiness.clone());
        health.set_part(
            WatchId::default(),
            &mk_spec(Purpose::Children),
            &WatchState::Starting,
        );
        assert!(readiness.is_ready());
    }
}
