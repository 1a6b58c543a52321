//! The metrics of one controller and its queue.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;

use super::families::{
    ControllerLabel, Families, Histograms, LimitLabels, QueueLabels, ResultLabels, Seconds, clamp,
};

/// The metrics of one controller and its queue. Clones share them.
#[derive(Clone, Debug)]
pub struct ControllerMetrics {
    name: Arc<str>,
    reconciles: Family<ResultLabels, Counter>,
    errors: Counter,
    terminal_errors: Counter,
    active_workers: Gauge,
    max_concurrent: Gauge,
    reconcile_time: Histogram,
    script: Histogram,
    limits: Family<LimitLabels, Counter>,
    depth: Gauge,
    adds: Counter,
    retries: Counter,
    rate_limited: Counter,
    unreadable: Counter,
    queue_duration: Histogram,
    work_duration: Histogram,
    unfinished: Seconds,
    longest: Seconds,
}

/// The result of a reconcile, in the terms of controller-runtime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReconcileResult {
    /// Success.
    Success,
    /// The next trigger starts the next run.
    Requeue,
    /// The next run starts at a certain time.
    RequeueAfter,
    /// Failure, with a retry.
    Error,
    /// Failure, without a retry before a trigger.
    TerminalError,
}

impl ControllerMetrics {
    pub(super) fn new(families: &Families, histograms: &Histograms, name: &str) -> Self {
        let controller: Arc<str> = name.into();
        let label = ControllerLabel {
            controller: Arc::clone(&controller),
        };
        let queue = QueueLabels {
            name: Arc::clone(&controller),
            controller,
        };
        Self {
            reconciles: families.reconciles.clone(),
            errors: families.reconcile_errors.get_or_create_owned(&label),
            terminal_errors: families.terminal_errors.get_or_create_owned(&label),
            active_workers: families.active_workers.get_or_create_owned(&label),
            max_concurrent: families.max_concurrent.get_or_create_owned(&label),
            reconcile_time: histograms.reconcile_time.get_or_create_owned(&label),
            script: histograms.script.get_or_create_owned(&label),
            limits: families.limits.clone(),
            depth: families.queue_depth.get_or_create_owned(&queue),
            adds: families.queue_adds.get_or_create_owned(&queue),
            retries: families.queue_retries.get_or_create_owned(&queue),
            rate_limited: families.rate_limited.get_or_create_owned(&label),
            unreadable: families.unreadable.get_or_create_owned(&label),
            queue_duration: histograms.queue_duration.get_or_create_owned(&queue),
            work_duration: histograms.work_duration.get_or_create_owned(&queue),
            unfinished: families.unfinished.get_or_create_owned(&queue),
            longest: families.longest.get_or_create_owned(&queue),
            name: label.controller,
        }
    }

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

    /// Counts a run that is delayed because its CR ran too often.
    pub fn rate_limited(&self) {
        self.rate_limited.inc();
    }

    /// Counts a run that ended before its role because its CR cannot be read.
    pub fn unreadable(&self) {
        self.unreadable.inc();
    }

    /// An item left the queue for a worker.
    pub fn taken(&self, waited: Duration, depth: usize) {
        self.queue_duration.observe(waited.as_secs_f64());
        self.depth.set(clamp(depth));
        self.active_workers.inc();
    }

    /// A worker is done with an item.
    pub fn finished(&self, took: Duration, ending: ReconcileResult) {
        self.active_workers.dec();
        self.work_duration.observe(took.as_secs_f64());
        self.reconcile_time.observe(took.as_secs_f64());
        let result = match ending {
            ReconcileResult::Success => "success",
            ReconcileResult::Requeue => "requeue",
            ReconcileResult::RequeueAfter => "requeue_after",
            ReconcileResult::Error | ReconcileResult::TerminalError => {
                self.errors.inc();
                "error"
            }
        };
        if ending == ReconcileResult::TerminalError {
            self.terminal_errors.inc();
        }
        let labels = ResultLabels {
            controller: Arc::clone(&self.name),
            result,
        };
        self.reconciles.get_or_create(&labels).inc();
    }

    /// Counts a run that a limit ended.
    pub fn limit_hit(&self, limit: &'static str) {
        let labels = LimitLabels {
            controller: Arc::clone(&self.name),
            limit,
        };
        self.limits.get_or_create(&labels).inc();
    }

    /// A script ran.
    pub fn script_ran(&self, took: Duration) {
        self.script.observe(took.as_secs_f64());
    }

    /// Records the runs in progress: their total time and the longest.
    pub fn in_progress(&self, sum: Duration, longest: Duration) {
        self.unfinished.set(sum.as_secs_f64());
        self.longest.set(longest.as_secs_f64());
    }
}
