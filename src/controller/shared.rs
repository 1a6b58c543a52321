//! The state that the tasks of a controller share.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::task::JoinSet;

use super::health::WatchHealth;
use super::index::Index;
use super::kinds::ServedKinds;
use super::loop_detector::Limits as LoopLimits;
use super::queue::{Key, Queue, RunRate};
use crate::backoff::Backoff;
use crate::cluster::watch::WatchId;
use crate::model::Reason;
use crate::model::owner::field_manager;
use crate::reconcile::{self, Report};
use crate::telemetry::{Metrics, Readiness, Watchdog};

/// Concurrency, periods and delays.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// The maximum number of concurrent runs of a kind whose watch has no limit.
    pub max_concurrent: usize,
    /// The maximum number of concurrent runs of all kinds.
    pub total: usize,
    /// The period of runs without a change, if neither the custom resource nor its watch has one; zero for
    /// none.
    pub period: Duration,
    /// Delays after failures.
    pub backoff: Backoff,
    /// The maximum rate of runs of one custom resource.
    pub run_rate: RunRate,
    /// The bounds beyond which writes are a conflict.
    pub conflicts: LoopLimits,
}

/// An observer of runs.
pub(crate) trait RunObserver: Send + Sync {
    /// Called when a run has ended.
    fn run_ended(&self, reason: Reason, report: &Report);

    /// Called when a controller begins to serve.
    fn serving(&self, _controller: &Controller) {}
}

/// The telemetry of a controller.
#[derive(Clone, Default)]
pub(crate) struct Telemetry {
    /// The metrics.
    pub metrics: Metrics,
    /// The readiness, with a part per watch.
    pub readiness: Readiness,
    /// The watchdog, with a heartbeat per run.
    pub watchdog: Watchdog,
    /// Observes every run.
    pub observer: Option<Arc<dyn RunObserver>>,
}

pub(super) struct Shared {
    pub(super) context: reconcile::Context,
    pub(super) settings: Settings,
    pub(super) queue: Queue,
    pub(super) kinds: ServedKinds,
    pub(super) index: RwLock<Index>,
    pub(super) health: WatchHealth,
    /// The watches whose first list is complete.
    pub(super) listed: Mutex<HashSet<WatchId>>,
    /// The watches whose kind the cluster did not serve at the last check.
    pub(super) absent: Mutex<HashSet<WatchId>>,
    pub(super) metrics: Metrics,
    pub(super) watchdog: Watchdog,
    pub(super) observer: Option<Arc<dyn RunObserver>>,
    /// Tasks outside runs: they release finalizers of CRs that the operator no longer serves.
    pub(super) background_tasks: Mutex<JoinSet<()>>,
}

impl Shared {
    /// Removes a custom resource that was deleted.
    pub(super) fn forget(&self, key: &Key) {
        self.queue.forget(key);
        let reads = self.index.write().remove(key);
        drop(reads);
        if let Some(served) = self.kinds.by_id(key.kind) {
            let manager = field_manager(&served.object_ref(key));
            self.context.apply_cache.forget(&manager);
        }
    }
}

/// The controller of a process. Clones share it.
#[derive(Clone)]
pub(crate) struct Controller(pub(super) Arc<Shared>);
