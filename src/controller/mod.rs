//! The controller: adds custom resources to a queue when a trigger occurs, and runs their roles.
//!
//! Reading order: [`Controller`] (here), [`queue`] (order and timing of runs), `triggers` (from changes to the
//! queue), `change_predicate` and `child_change` (changes that trigger), `index` (state and subscriptions of
//! each custom resource), `worker` (one run), `period`, `loop_detector`, `conflicts`, `release_unserved`.
//!
//! # Guarantees
//! - Level-triggered: after every change that lasts, a run starts that sees the change.
//! - At most one run at a time per custom resource, with limits per kind and in total.
//! - After a start, each custom resource runs once, the most recently changed first. Triggers that occur
//!   meanwhile have priority.
//!
//! # Caveats
//! The controller does not check a lease. The leader calls [`Controller::run`]. A standby fills its caches
//! and its queue before that, so that it can take over quickly.

mod change_predicate;
mod child_change;
mod conflicts;
mod health;
mod index;
mod kinds;
mod loop_detector;
mod period;
pub(crate) mod queue;
mod release_unserved;
mod serve;
mod shared;
mod triggers;
mod worker;

use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use self::health::WatchHealth;
use self::kinds::ServedKinds;
use self::queue::Queue;
use self::shared::Shared;
pub(crate) use self::shared::{Controller, RunObserver, Settings, Telemetry};
use self::triggers::Triggers;
use crate::reconcile;
use crate::telemetry::log;
pub(crate) use loop_detector::Limits as LoopLimits;
pub(crate) use queue::RunRate;

impl Controller {
    /// Creates a controller that serves nothing yet.
    pub(crate) fn new(
        context: reconcile::Context,
        settings: Settings,
        telemetry: Telemetry,
    ) -> Self {
        let Telemetry {
            metrics,
            readiness,
            watchdog,
            observer,
        } = telemetry;
        health::register_probes(&context.cluster, &metrics, &watchdog);
        let queue = Queue::new(settings.total, settings.backoff, settings.run_rate);
        let progress = queue.clone();
        metrics.before_scrape(move |_| progress.report_progress());
        let shared = Arc::new(Shared {
            queue,
            kinds: ServedKinds::default(),
            index: RwLock::default(),
            health: WatchHealth::new(readiness),
            listed: Mutex::default(),
            absent: Mutex::default(),
            metrics,
            watchdog,
            observer,
            background_tasks: Mutex::default(),
            settings,
            context,
        });
        let triggers = Triggers(Arc::downgrade(&shared));
        shared.context.cluster.listen(Arc::new(triggers));
        Self(shared)
    }

    /// Executes runs until `shutdown`. Then waits for the current runs, and cancels those that last longer
    /// than `drain`.
    pub(crate) async fn run(&self, shutdown: CancellationToken, drain: Duration) {
        let lost = Arc::clone(&self.0).release_unserved().in_current_span();
        self.0.background_tasks.lock().spawn(lost);
        let mut runs = JoinSet::new();
        loop {
            tokio::select! {
                biased;
                () = shutdown.cancelled() => break,
                Some(ended) = runs.join_next() => report_panic(ended),
                slot = self.0.queue.next() => {
                    runs.spawn(Arc::clone(&self.0).execute(slot).in_current_span());
                }
            }
        }
        if !runs.is_empty() {
            log::info!("waiting for runs to end", runs = runs.len());
        }
        if tokio::time::timeout(drain, join(&mut runs)).await.is_err() {
            log::warn!("cancelling runs", runs = runs.len());
            self.0.queue.interrupt_all();
            // Cancelled runs end soon. Others end with the process.
            let _ = tokio::time::timeout(CANCEL, join(&mut runs)).await;
        }
    }
}

impl Controller {
    /// Returns whether no run is executed or due now. A delayed one can follow.
    #[cfg(any(test, feature = "scenario-tests"))]
    pub(crate) fn is_idle(&self) -> bool {
        self.0.queue.is_idle()
    }

    /// Cancels all runs at once.
    pub(crate) fn interrupt(&self) {
        self.0.queue.interrupt_all();
    }
}

/// The time that cancelled runs have to end.
const CANCEL: Duration = Duration::from_secs(3);

async fn join(runs: &mut JoinSet<()>) {
    while let Some(ended) = runs.join_next().await {
        report_panic(ended);
    }
}

fn report_panic(ended: Result<(), tokio::task::JoinError>) {
    if let Err(error) = ended {
        log::error!("run panicked or was aborted", panicked = error.is_panic());
    }
}
