//! The metric families: controller-runtime's names and labels, so that existing dashboards work, and
//! ours.
//!
//! Label values are closed sets or kinds of the project, never names of objects. Layers below
//! `operator` are handed a [`Metrics`] and record through its methods; what is a state rather than an
//! event is refreshed by a hook before each scrape.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;
use prometheus_client::encoding::{EncodeLabelSet, text};
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

use super::process::Process;

/// Gauges of seconds have fractions.
type Seconds = Gauge<f64, std::sync::atomic::AtomicU64>;

/// controller-runtime's buckets of `controller_runtime_reconcile_time_seconds`.
const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ControllerLabel {
    controller: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ResultLabels {
    controller: Arc<str>,
    result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct QueueLabels {
    name: Arc<str>,
    controller: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    code: Arc<str>,
    method: Arc<str>,
    host: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct NameLabel {
    name: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct FunctionLabel {
    function: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct ActionLabel {
    action: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct KindLabel {
    kind: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct WatchLabels {
    kind: Arc<str>,
    purpose: &'static str,
    state: &'static str,
}

#[derive(Debug, Default)]
struct Families {
    reconciles: Family<ResultLabels, Counter>,
    reconcile_errors: Family<ControllerLabel, Counter>,
    terminal_errors: Family<ControllerLabel, Counter>,
    active_workers: Family<ControllerLabel, Gauge>,
    max_concurrent: Family<ControllerLabel, Gauge>,
    queue_depth: Family<QueueLabels, Gauge>,
    queue_adds: Family<QueueLabels, Counter>,
    queue_retries: Family<QueueLabels, Counter>,
    unfinished: Family<QueueLabels, Seconds>,
    longest: Family<QueueLabels, Seconds>,
    requests: Family<RequestLabels, Counter>,
    leader: Family<NameLabel, Gauge>,
    host_calls: Family<FunctionLabel, Counter>,
    applies: Family<ActionLabel, Counter>,
    prunes: Counter,
    cache_objects: Family<KindLabel, Gauge>,
    cache_bytes: Gauge,
    watches: Family<WatchLabels, Gauge>,
}

/// Histograms have no default: each family names its buckets.
#[derive(Debug)]
struct Histograms {
    reconcile_time: Family<ControllerLabel, Histogram>,
    queue_duration: Family<QueueLabels, Histogram>,
    work_duration: Family<QueueLabels, Histogram>,
    script: Family<ControllerLabel, Histogram>,
}

impl Default for Histograms {
    fn default() -> Self {
        // client-go's buckets of its work queue: 10 ns to 1000 s.
        let queue: fn() -> Histogram = || Histogram::new(exponential_buckets(1e-8, 10.0, 12));
        Self {
            reconcile_time: Family::new_with_constructor(|| Histogram::new(RECONCILE_BUCKETS)),
            queue_duration: Family::new_with_constructor(queue),
            work_duration: Family::new_with_constructor(queue),
            // 100 µs, the price of a no-op run, to 27 min in steps of four.
            script: Family::new_with_constructor(|| {
                Histogram::new(exponential_buckets(1e-4, 4.0, 13))
            }),
        }
    }
}

/// What refreshes gauges before a scrape.
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
        let mut registry = Registry::default();
        register_controllers(&mut registry, &families, &histograms);
        register_queues(&mut registry, &families, &histograms);
        register_ours(&mut registry, &families, &histograms);
        registry.register_collector(Box::new(Process));
        Self(Arc::new(Inner {
            families,
            histograms,
            registry: Mutex::new(registry),
            hooks: Mutex::default(),
        }))
    }
}

fn register_controllers(registry: &mut Registry, families: &Families, histograms: &Histograms) {
    let registry = registry.sub_registry_with_prefix("controller_runtime");
    registry.register(
        "reconcile",
        "Reconciles per controller and result",
        families.reconciles.clone(),
    );
    registry.register(
        "reconcile_errors",
        "Reconciles that failed, per controller",
        families.reconcile_errors.clone(),
    );
    registry.register(
        "terminal_reconcile_errors",
        "Reconciles that failed for good until something changes, per controller",
        families.terminal_errors.clone(),
    );
    registry.register(
        "reconcile_time_seconds",
        "Length of a reconcile, per controller",
        histograms.reconcile_time.clone(),
    );
    registry.register(
        "active_workers",
        "Reconciles that are running, per controller",
        families.active_workers.clone(),
    );
    registry.register(
        "max_concurrent_reconciles",
        "Bound of concurrent reconciles, per controller",
        families.max_concurrent.clone(),
    );
}

fn register_queues(registry: &mut Registry, families: &Families, histograms: &Histograms) {
    let registry = registry.sub_registry_with_prefix("workqueue");
    registry.register("depth", "Items that wait", families.queue_depth.clone());
    registry.register("adds", "Items added", families.queue_adds.clone());
    registry.register(
        "retries",
        "Items added again after a failure",
        families.queue_retries.clone(),
    );
    registry.register(
        "queue_duration_seconds",
        "How long an item waits before it is worked on",
        histograms.queue_duration.clone(),
    );
    registry.register(
        "work_duration_seconds",
        "How long an item is worked on",
        histograms.work_duration.clone(),
    );
    registry.register(
        "unfinished_work_seconds",
        "Seconds of work that is in progress and not yet in work_duration_seconds",
        families.unfinished.clone(),
    );
    registry.register(
        "longest_running_processor_seconds",
        "For how long the longest running item has been worked on",
        families.longest.clone(),
    );
}

fn register_ours(registry: &mut Registry, families: &Families, histograms: &Histograms) {
    registry.register(
        "rest_client_requests",
        "Requests to the API server by status code, method and host",
        families.requests.clone(),
    );
    registry.register(
        "leader_election_master_status",
        "Whether this process holds the lease: 1 for the leader, 0 for a standby",
        families.leader.clone(),
    );
    let registry = registry.sub_registry_with_prefix("rhai_operator");
    registry.register(
        "script_seconds",
        "Length of a script's run",
        histograms.script.clone(),
    );
    registry.register(
        "host_calls",
        "Calls of host functions by scripts",
        families.host_calls.clone(),
    );
    registry.register(
        "applies",
        "Objects applied, by what it came to",
        families.applies.clone(),
    );
    registry.register(
        "prunes",
        "Children deleted because no run applies them",
        families.prunes.clone(),
    );
    registry.register(
        "cache_objects",
        "Objects in the caches",
        families.cache_objects.clone(),
    );
    registry.register(
        "cache_bytes",
        "Bytes of the objects in the caches",
        families.cache_bytes.clone(),
    );
    registry.register(
        "watch_state",
        "Watches by kind, purpose and state",
        families.watches.clone(),
    );
}

/// A state of a watch, as counted at a scrape.
#[derive(Clone, Debug)]
pub struct WatchState {
    /// `Kind.group`.
    pub kind: Arc<str>,
    /// What the watch is for: a closed set.
    pub purpose: &'static str,
    /// How it is: a closed set.
    pub state: &'static str,
}

impl Metrics {
    /// The metrics of one controller, under the name that dashboards show.
    pub fn controller(&self, name: &str) -> Controller {
        let controller: Arc<str> = name.into();
        let label = ControllerLabel {
            controller: Arc::clone(&controller),
        };
        let queue = QueueLabels {
            name: Arc::clone(&controller),
            controller,
        };
        let (families, histograms) = (&self.0.families, &self.0.histograms);
        Controller {
            reconciles: families.reconciles.clone(),
            errors: families.reconcile_errors.get_or_create_owned(&label),
            terminal_errors: families.terminal_errors.get_or_create_owned(&label),
            active_workers: families.active_workers.get_or_create_owned(&label),
            max_concurrent: families.max_concurrent.get_or_create_owned(&label),
            reconcile_time: histograms.reconcile_time.get_or_create_owned(&label),
            script: histograms.script.get_or_create_owned(&label),
            depth: families.queue_depth.get_or_create_owned(&queue),
            adds: families.queue_adds.get_or_create_owned(&queue),
            retries: families.queue_retries.get_or_create_owned(&queue),
            queue_duration: histograms.queue_duration.get_or_create_owned(&queue),
            work_duration: histograms.work_duration.get_or_create_owned(&queue),
            unfinished: families.unfinished.get_or_create_owned(&queue),
            longest: families.longest.get_or_create_owned(&queue),
            name: label.controller,
        }
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

    /// Counts applied objects by what it came to: `created`, `changed`, `skipped` because nothing had
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

    /// Replaces what the caches hold: objects by kind, and bytes in all.
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

fn clamp(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// The metrics of one controller and its queue. Clones share them.
#[derive(Clone, Debug)]
pub struct Controller {
    name: Arc<str>,
    reconciles: Family<ResultLabels, Counter>,
    errors: Counter,
    terminal_errors: Counter,
    active_workers: Gauge,
    max_concurrent: Gauge,
    reconcile_time: Histogram,
    script: Histogram,
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    queue_duration: Histogram,
    work_duration: Histogram,
    unfinished: Seconds,
    longest: Seconds,
}

/// controller-runtime's words for how a reconcile ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ending {
    /// Nothing is left to do.
    Success,
    /// It goes on when something happens.
    Requeue,
    /// It goes on at a certain time.
    RequeueAfter,
    /// It failed and is tried again.
    Error,
    /// It failed and is not tried again before something changes.
    TerminalError,
}

impl Controller {
    /// The bound of concurrent reconciles.
    pub fn bound(&self, workers: usize) {
        self.max_concurrent.set(clamp(workers));
    }

    /// An item came into the queue.
    pub fn added(&self, depth: usize) {
        self.adds.inc();
        self.depth.set(clamp(depth));
    }

    /// An item will come again after a failure.
    pub fn retried(&self) {
        self.retries.inc();
    }

    /// An item left the queue for a worker.
    pub fn taken(&self, waited: Duration, depth: usize) {
        self.queue_duration.observe(waited.as_secs_f64());
        self.depth.set(clamp(depth));
        self.active_workers.inc();
    }

    /// A worker is done with an item.
    pub fn finished(&self, took: Duration, ending: Ending) {
        self.active_workers.dec();
        self.work_duration.observe(took.as_secs_f64());
        self.reconcile_time.observe(took.as_secs_f64());
        let result = match ending {
            Ending::Success => "success",
            Ending::Requeue => "requeue",
            Ending::RequeueAfter => "requeue_after",
            Ending::Error | Ending::TerminalError => {
                self.errors.inc();
                "error"
            }
        };
        if ending == Ending::TerminalError {
            self.terminal_errors.inc();
        }
        let labels = ResultLabels {
            controller: Arc::clone(&self.name),
            result,
        };
        self.reconciles.get_or_create(&labels).inc();
    }

    /// A script ran.
    pub fn script_ran(&self, took: Duration) {
        self.script.observe(took.as_secs_f64());
    }

    /// What is in progress: the sum and the longest.
    pub fn in_progress(&self, sum: Duration, longest: Duration) {
        self.unfinished.set(sum.as_secs_f64());
        self.longest.set(longest.as_secs_f64());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_labels_are_those_of_controller_runtime() {
        let metrics = Metrics::default();
        let controller = metrics.controller("memcached-controller");
        controller.bound(8);
        controller.added(1);
        controller.retried();
        controller.taken(Duration::from_millis(1), 0);
        controller.finished(Duration::from_millis(20), Ending::Success);
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
