//! The metric families: those of controller-runtime, with its names and labels, so that existing
//! dashboards work, and families of this operator.
//!
//! Label values are closed sets or kinds of the project, never names of objects. Layers below
//! `operator` get a [`Metrics`] and record events through its methods. A hook updates gauges of states
//! before each scrape.

mod controller;
mod families;

use std::fmt;
use std::sync::Arc;

use parking_lot::Mutex;
use prometheus_client::encoding::text;
use prometheus_client::registry::Registry;

pub(crate) use self::controller::{ControllerMetrics, ReconcileResult};

use self::families::{
    ActionLabel, Families, FunctionLabel, Histograms, KindLabel, NameLabel, RequestLabels,
    WatchLabels, clamp,
};
use super::process::Process;

/// A function that refreshes gauges before a scrape.
type Hook = Box<dyn Fn(&Metrics) + Send + Sync>;

/// All metrics of a process. Clones share them.
#[derive(Clone)]
pub struct Metrics(Arc<Inner>);

struct Inner {
    families: Families,
    histograms: Histograms,
    registry: Mutex<Registry>,
    hooks: Mutex<Vec<Hook>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Metrics")
    }
}

impl Default for Metrics {
    fn default() -> Self {
        let families = Families::default();
        let histograms = Histograms::default();
        let mut registry = families::registry(&families, &histograms);
        registry.register_collector(Box::new(Process));
        Self(Arc::new(Inner {
            families,
            histograms,
            registry: Mutex::new(registry),
            hooks: Mutex::default(),
        }))
    }
}

/// A state of a watch, as counted at a scrape.
#[derive(Clone, Debug)]
pub struct WatchState {
    /// `Kind.group`.
    pub kind: Arc<str>,
    /// The purpose of the watch, from a closed set.
    pub purpose: &'static str,
    /// The state, from a closed set.
    pub state: &'static str,
}

impl Metrics {
    /// The metrics of one controller, under the name that dashboards show.
    pub fn controller(&self, name: &str) -> ControllerMetrics {
        ControllerMetrics::new(&self.0.families, &self.0.histograms, name)
    }

    /// Counts a request to the API server; `code` is `<error>` when there was no answer.
    pub fn request(&self, code: &str, method: &str, host: &str) {
        let labels = RequestLabels {
            code: code.into(),
            method: method.into(),
            host: host.into(),
        };
        self.0.families.requests.get_or_create(&labels).inc();
    }

    /// Says whether this process leads under the lease of this name.
    pub fn leads(&self, lease: &str, leads: bool) {
        let labels = NameLabel { name: lease.into() };
        self.0
            .families
            .leader
            .get_or_create(&labels)
            .set(leads.into());
    }

    /// Counts calls of a host function.
    pub fn host_calls(&self, function: &'static str, calls: usize) {
        self.0
            .families
            .host_calls
            .get_or_create(&FunctionLabel { function })
            .inc_by(u64::try_from(calls).unwrap_or(u64::MAX));
    }

    /// Counts applied objects by result: `created`, `changed`, `skipped` because nothing had
    /// changed, ….
    pub fn applied(&self, action: &'static str, objects: usize) {
        self.0
            .families
            .applies
            .get_or_create(&ActionLabel { action })
            .inc_by(u64::try_from(objects).unwrap_or(u64::MAX));
    }

    /// Counts pruned objects.
    pub fn pruned(&self, objects: usize) {
        self.0
            .families
            .prunes
            .inc_by(u64::try_from(objects).unwrap_or(u64::MAX));
    }

    /// Sets the size of the caches: the number of objects by kind, and the total number of bytes.
    pub fn cached(&self, objects: impl IntoIterator<Item = (String, usize)>, bytes: usize) {
        let families = &self.0.families;
        families.cache_objects.clear();
        for (kind, objects) in objects {
            let labels = KindLabel { kind: kind.into() };
            families
                .cache_objects
                .get_or_create(&labels)
                .set(clamp(objects));
        }
        families.cache_bytes.set(clamp(bytes));
    }

    /// Replaces the states of all watches.
    pub fn watch_states(&self, states: impl IntoIterator<Item = WatchState>) {
        let watches = &self.0.families.watches;
        watches.clear();
        for WatchState {
            kind,
            purpose,
            state,
        } in states
        {
            watches
                .get_or_create(&WatchLabels {
                    kind,
                    purpose,
                    state,
                })
                .inc();
        }
    }

    /// Adds what refreshes gauges before each scrape.
    pub fn before_scrape(&self, hook: impl Fn(&Self) + Send + Sync + 'static) {
        self.0.hooks.lock().push(Box::new(hook));
    }

    /// The text that a scrape gets, in `OpenMetrics` format.
    pub fn encode(&self) -> Result<String, fmt::Error> {
        for hook in &*self.0.hooks.lock() {
            hook(self);
        }
        let mut text = String::new();
        text::encode(&mut text, &self.0.registry.lock())?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn names_and_labels_are_those_of_controller_runtime() {
        let metrics = Metrics::default();
        let controller = metrics.controller("memcached-controller");
        controller.bound(8);
        controller.added(1);
        controller.retried();
        controller.taken(Duration::from_millis(1), 0);
        controller.finished(Duration::from_millis(20), ReconcileResult::Success);
        controller.in_progress(Duration::ZERO, Duration::ZERO);
        metrics.request("200", "GET", "127.0.0.1:6443");
        metrics.leads("rhai-operator", true);
        let text = metrics.encode().unwrap();
        let queue = r#"name="memcached-controller",controller="memcached-controller""#;
        for line in [
            r#"controller_runtime_reconcile_total{controller="memcached-controller",result="success"} 1"#.to_owned(),
            r#"controller_runtime_max_concurrent_reconciles{controller="memcached-controller"} 8"#.to_owned(),
            r#"controller_runtime_active_workers{controller="memcached-controller"} 0"#.to_owned(),
            r#"controller_runtime_reconcile_errors_total{controller="memcached-controller"} 0"#.to_owned(),
            r#"controller_runtime_reconcile_time_seconds_bucket{le="0.025",controller="memcached-controller"} 1"#.to_owned(),
            format!("workqueue_depth{{{queue}}} 0"),
            format!("workqueue_adds_total{{{queue}}} 1"),
            format!("workqueue_retries_total{{{queue}}} 1"),
            format!("workqueue_queue_duration_seconds_count{{{queue}}} 1"),
            format!("workqueue_work_duration_seconds_count{{{queue}}} 1"),
            format!("workqueue_unfinished_work_seconds{{{queue}}} 0"),
            format!("workqueue_longest_running_processor_seconds{{{queue}}} 0"),
            r#"rest_client_requests_total{code="200",method="GET",host="127.0.0.1:6443"} 1"#.to_owned(),
            r#"leader_election_master_status{name="rhai-operator"} 1"#.to_owned(),
        ] {
            assert!(text.contains(&line), "{line}\n{text}");
        }
        assert!(text.contains("process_cpu_seconds_total "), "{text}");
    }

    #[test]
    fn a_watch_counts_in_its_present_state_only() {
        let metrics = Metrics::default();
        let state = |state| WatchState {
            kind: "Secret".into(),
            purpose: "children",
            state,
        };
        metrics.watch_states([state("starting"), state("live")]);
        metrics.watch_states([state("live"), state("live")]);
        let text = metrics.encode().unwrap();
        assert!(!text.contains("starting"), "{text}");
        let line = r#"rhai_operator_watch_state{kind="Secret",purpose="children",state="live"} 2"#;
        assert!(text.contains(line), "{text}");
    }

    #[test]
    fn hooks_refresh_gauges_before_a_scrape() {
        let metrics = Metrics::default();
        metrics.before_scrape(|metrics| metrics.cached([("Secret".to_owned(), 3)], 700));
        let text = metrics.encode().unwrap();
        assert!(
            text.contains(r#"rhai_operator_cache_objects{kind="Secret"} 3"#),
            "{text}"
        );
        assert!(text.contains("rhai_operator_cache_bytes 700"), "{text}");
    }
}
