//! The state of one run, for its host functions, and the reasons that stop it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rhai::Dynamic;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::call_site::CallSite;
use super::host_error::HostError;
use super::limits::{Limit, Limits};
use crate::clock;

/// Constants that all code of a program sees, including modules.
pub type Variables = BTreeMap<&'static str, Dynamic>;

/// A run of a program. Host functions get it by [`Run::from_call`].
pub struct Run {
    pub(super) state: Arc<dyn Any + Send + Sync>,
    pub(super) runtime: Handle,
    pub(super) limits: Limits,
    pub(super) cancel: CancellationToken,
    pub(super) deadline: clock::Instant,
    host_calls: AtomicU64,
    objects: AtomicU64,
    stopped: Mutex<Option<StopRecord>>,
    failures: Mutex<Vec<HostFailure>>,
    pub(super) last_call: Mutex<Option<CallSite>>,
}

/// A reason to end a run. A script cannot catch it.
#[derive(Clone)]
pub(super) enum StopReason {
    Limit(Limit),
    Deadline,
    Cancelled,
    Ended(Arc<dyn Any + Send + Sync>),
}

/// The first reason to end the run, and the call site that caused it, if known.
#[derive(Clone)]
pub(super) struct StopRecord {
    pub(super) why: StopReason,
    pub(super) place: Option<CallSite>,
}

/// A host error that the script received.
#[derive(Clone)]
pub(super) struct HostFailure {
    pub(super) error: HostError,
    pub(super) place: Option<CallSite>,
}

impl Run {
    /// Creates a run that has not begun.
    pub(super) fn new(
        state: Arc<dyn Any + Send + Sync>,
        runtime: Handle,
        limits: Limits,
        cancel: CancellationToken,
        deadline: clock::Instant,
    ) -> Self {
        Self {
            state,
            runtime,
            limits,
            cancel,
            deadline,
            host_calls: AtomicU64::new(0),
            objects: AtomicU64::new(0),
            stopped: Mutex::new(None),
            failures: Mutex::new(Vec::new()),
            last_call: Mutex::new(None),
        }
    }

    /// Returns the state that the job carries for its host functions, if it is a `T`.
    pub fn state<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.state.clone().downcast().ok()
    }

    /// Counts a host call. Returns false if the limit is exceeded.
    pub(super) fn count_host_call(&self) -> bool {
        self.host_calls.fetch_add(1, Ordering::Relaxed) < self.limits.host_calls
    }

    /// Counts an object to apply. Returns false if there were too many.
    pub(super) fn count_object(&self) -> bool {
        self.objects.fetch_add(1, Ordering::Relaxed) < self.limits.objects
    }

    /// Records the reason of the end. Keeps the first one.
    pub(super) fn mark_stopped(&self, why: StopReason, place: Option<CallSite>) {
        self.stopped.lock().get_or_insert(StopRecord { why, place });
    }

    /// Continues the run after a step ended.
    pub(super) fn resume(&self) {
        *self.stopped.lock() = None;
    }

    /// Returns the reason that the run must end, if it must.
    pub(super) fn stopped(&self) -> Option<StopRecord> {
        self.stopped.lock().clone()
    }

    /// Returns the reason to end the run from outside: cancellation or the deadline.
    pub(super) fn interrupted(&self) -> Option<StopReason> {
        if self.cancel.is_cancelled() {
            Some(StopReason::Cancelled)
        } else if clock::now() >= self.deadline {
            Some(StopReason::Deadline)
        } else {
            None
        }
    }

    /// Returns the position of the last call of a host function, which is the best known position of a panic.
    pub(super) fn last_call(&self) -> Option<CallSite> {
        self.last_call.lock().clone()
    }

    /// Records a host error, and returns the map that the script can catch.
    pub(super) fn fail(&self, error: HostError) -> Dynamic {
        let mut caught = error.to_map();
        let mut failures = self.failures.lock();
        failures.push(HostFailure {
            error,
            place: self.last_call(),
        });
        caught.set_tag(i32::try_from(failures.len()).unwrap_or(0));
        caught
    }

    /// Returns the host error of a thrown value, also if the script caught it and threw it again.
    pub(super) fn failure(&self, thrown: &Dynamic) -> Option<HostFailure> {
        let index = usize::try_from(thrown.tag()).ok()?.checked_sub(1)?;
        self.failures.lock().get(index).cloned()
    }
}
