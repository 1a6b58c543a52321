//! Readiness of the watches (product O4).

use std::collections::HashMap;
use std::sync::Arc;

use parking_lot::Mutex;

use crate::cluster::watch::{Purpose, Spec, State};
use crate::cluster::{Cluster, watch};
use crate::telemetry::metrics::WatchState;
use crate::telemetry::readiness::{self, Part};
use crate::telemetry::{Metrics, Readiness, Watchdog};

/// The parts that the watches are.
pub(super) struct Health {
    readiness: Readiness,
    parts: Mutex<HashMap<Spec, Part>>,
}

impl Health {
    pub(super) fn new(readiness: Readiness) -> Self {
        Self {
            readiness,
            parts: Mutex::default(),
        }
    }

    /// A watch is in this state.
    pub(super) fn watch(&self, spec: &Spec, state: &State) {
        let mut parts = self.parts.lock();
        let part = parts
            .entry(spec.clone())
            .or_insert_with(|| self.readiness.part(&name(spec)));
        part.set(meaning(spec.purpose, state));
    }

    /// A watch has ended on purpose.
    pub(super) fn ended(&self, spec: &Spec) {
        self.parts.lock().remove(spec);
    }
}

/// What a watch's state means for the whole: without its CRs, or the children that it repairs, the
/// operator cannot do its work; without something that a role reads, that role's runs say so.
fn meaning(purpose: Purpose, state: &State) -> readiness::State {
    let blocks = purpose != Purpose::Reference;
    match state {
        State::Synced => readiness::State::Ready,
        State::KindAbsent => readiness::State::Noted("the kind is not installed".to_owned()),
        State::Starting if purpose == Purpose::Primary => {
            readiness::State::NotReady("not synced yet".to_owned())
        }
        State::Starting => readiness::State::Noted("not synced yet".to_owned()),
        State::Forbidden(error) | State::Failing { error, .. } if blocks => {
            readiness::State::NotReady(error.to_string())
        }
        State::Forbidden(error) | State::Failing { error, .. } => {
            readiness::State::Noted(error.to_string())
        }
    }
}

fn name(spec: &Spec) -> String {
    let purpose = purpose(spec.purpose);
    let kind = spec.gvk.kind_group();
    match &spec.namespace {
        Some(namespace) => format!("{purpose} watch of {kind} in {namespace}"),
        None => format!("{purpose} watch of {kind}"),
    }
}

fn purpose(purpose: Purpose) -> &'static str {
    match purpose {
        Purpose::Primary => "primary",
        Purpose::Children => "children",
        Purpose::Reference => "reference",
    }
}

fn state(state: &State) -> &'static str {
    match state {
        State::Starting => "starting",
        State::Synced => "synced",
        State::Forbidden(_) => "forbidden",
        State::KindAbsent => "absent",
        State::Failing { .. } => "failing",
    }
}

/// Has the metrics and the watchdog look at a cluster's watches and caches.
pub(super) fn observe(cluster: &Cluster, metrics: &Metrics, watchdog: &Watchdog) {
    let of = cluster.clone();
    metrics.before_scrape(move |metrics| {
        let watches = of.watches();
        let mut objects: HashMap<String, usize> = HashMap::new();
        for watch in &watches {
            *objects.entry(watch.spec().gvk.kind_group()).or_default() += watch.len();
        }
        metrics.cached(objects, of.cached_bytes());
        metrics.watch_states(watches.iter().map(|watch| WatchState {
            kind: watch.spec().gvk.kind_group().into(),
            purpose: purpose(watch.spec().purpose),
            state: state(&watch.state()),
        }));
    });
    let of = cluster.clone();
    watchdog.probe(move || {
        let watches = of.watches();
        let stuck = watches
            .iter()
            .filter(|watch| watch.idle() > watch.silence_bound());
        stuck
            .map(|watch: &Arc<watch::Watch>| name(watch.spec()).into())
            .collect()
    });
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cluster::watch::Content;
    use crate::model::Gvk;
    use crate::model::selector::LabelSelector;

    fn mk_spec(purpose: Purpose) -> Spec {
        Spec {
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
        let health = Health::new(readiness.clone());
        let spec = mk_spec(Purpose::Primary);
        health.watch(&spec, &State::Starting);
        assert!(!readiness.is_ready());
        health.watch(&spec, &State::KindAbsent);
        assert!(readiness.is_ready());
        let (name, state) = readiness.parts().remove(0);
        assert_eq!(&*name, "primary watch of K.g in ns");
        assert_eq!(
            state,
            readiness::State::Noted("the kind is not installed".to_owned())
        );
        health.ended(&spec);
        assert!(readiness.parts().is_empty());
    }

    #[test]
    fn a_watch_that_starts_in_a_run_does_not_block() {
        let readiness = Readiness::default();
        let health = Health::new(readiness.clone());
        health.watch(&mk_spec(Purpose::Children), &State::Starting);
        assert!(readiness.is_ready());
    }
}
