//! The families by name, labels and buckets.

use std::sync::Arc;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::Registry;

/// Gauges of seconds have fractions.
pub(super) type Seconds = Gauge<f64, std::sync::atomic::AtomicU64>;

/// controller-runtime's buckets of `controller_runtime_reconcile_time_seconds`.
const RECONCILE_BUCKETS: [f64; 40] = [
    0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5, 0.6, 0.7, 0.8, 0.9,
    1.0, 1.25, 1.5, 1.75, 2.0, 2.5, 3.0, 3.5, 4.0, 4.5, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0, 15.0, 20.0,
    25.0, 30.0, 40.0, 50.0, 60.0,
];

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ControllerLabel {
    pub(super) controller: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ResultLabels {
    pub(super) controller: Arc<str>,
    pub(super) result: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct QueueLabels {
    pub(super) name: Arc<str>,
    pub(super) controller: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct RequestLabels {
    pub(super) code: Arc<str>,
    pub(super) method: Arc<str>,
    pub(super) host: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct NameLabel {
    pub(super) name: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct FunctionLabel {
    pub(super) function: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct LimitLabels {
    pub(super) controller: Arc<str>,
    pub(super) limit: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct ActionLabel {
    pub(super) action: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct KindLabel {
    pub(super) kind: Arc<str>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
pub(super) struct WatchLabels {
    pub(super) kind: Arc<str>,
    pub(super) purpose: &'static str,
    pub(super) state: &'static str,
}

#[derive(Debug, Default)]
pub(super) struct Families {
    pub(super) reconciles: Family<ResultLabels, Counter>,
    pub(super) reconcile_errors: Family<ControllerLabel, Counter>,
    pub(super) terminal_errors: Family<ControllerLabel, Counter>,
    pub(super) active_workers: Family<ControllerLabel, Gauge>,
    pub(super) max_concurrent: Family<ControllerLabel, Gauge>,
    pub(super) queue_depth: Family<QueueLabels, Gauge>,
    pub(super) queue_adds: Family<QueueLabels, Counter>,
    pub(super) queue_retries: Family<QueueLabels, Counter>,
    pub(super) unfinished: Family<QueueLabels, Seconds>,
    pub(super) longest: Family<QueueLabels, Seconds>,
    pub(super) rate_limited: Family<ControllerLabel, Counter>,
    pub(super) unreadable: Family<ControllerLabel, Counter>,
    pub(super) requests: Family<RequestLabels, Counter>,
    pub(super) leader: Family<NameLabel, Gauge>,
    pub(super) host_calls: Family<FunctionLabel, Counter>,
    pub(super) limits: Family<LimitLabels, Counter>,
    pub(super) applies: Family<ActionLabel, Counter>,
    pub(super) prunes: Counter,
    pub(super) cache_objects: Family<KindLabel, Gauge>,
    pub(super) cache_bytes: Gauge,
    pub(super) watches: Family<WatchLabels, Gauge>,
}

/// Histograms have no default: each family names its buckets.
#[derive(Debug)]
pub(super) struct Histograms {
    pub(super) reconcile_time: Family<ControllerLabel, Histogram>,
    pub(super) queue_duration: Family<QueueLabels, Histogram>,
    pub(super) work_duration: Family<QueueLabels, Histogram>,
    pub(super) script: Family<ControllerLabel, Histogram>,
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

/// A registry with all families.
pub(super) fn registry(families: &Families, histograms: &Histograms) -> Registry {
    let mut registry = Registry::default();
    register_controllers(&mut registry, families, histograms);
    register_queues(&mut registry, families, histograms);
    register_ours(&mut registry, families, histograms);
    registry
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
        "Reconciles that stalled: they failed, and a retry cannot help, per controller",
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
    register_runs(registry, families, histograms);
    registry.register(
        "applies",
        "Objects applied, by result",
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

fn register_runs(registry: &mut Registry, families: &Families, histograms: &Histograms) {
    registry.register(
        "script_seconds",
        "Length of a script's run",
        histograms.script.clone(),
    );
    registry.register(
        "rate_limited_runs",
        "Runs delayed because their CR ran more often than the bound allows, per controller",
        families.rate_limited.clone(),
    );
    registry.register(
        "unreadable_runs",
        "Runs that ended before their role because their CR cannot be read, per controller",
        families.unreadable.clone(),
    );
    registry.register(
        "host_calls",
        "Calls of host functions by scripts",
        families.host_calls.clone(),
    );
    registry.register(
        "run_limits",
        "Runs that a limit ended, by limit",
        families.limits.clone(),
    );
}

/// Returns the value of a gauge that shows a count.
pub(super) fn clamp(number: usize) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
