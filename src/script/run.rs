//! One run: what its host functions see of it, and what stops it.

use std::any::Any;
use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use rhai::{Dynamic, EvalAltResult, NativeCallContext};
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::error::{CallSite, HostError};
use super::limits::{Limit, Limits};
use super::thread_context;
use crate::clock;

/// Constants that a program sees everywhere, modules included.
pub type Variables = BTreeMap<&'static str, Dynamic>;

/// The run that a host function was called by.
pub struct Run {
    pub(super) state: Arc<dyn Any + Send + Sync>,
    pub(super) runtime: Handle,
    pub(super) limits: Limits,
    pub(super) cancel: CancellationToken,
    pub(super) deadline: clock::Instant,
    host_calls: AtomicU64,
    stopped: Mutex<Option<Stopped>>,
    failures: Mutex<Vec<HostFailure>>,
    last_call: Mutex<Option<CallSite>>,
}

/// The reason that a run must end. A script cannot catch it.
#[derive(Clone)]
pub(super) enum Stop {
    Limit(Limit),
    Deadline,
    Cancelled,
    Ended(Arc<dyn Any + Send + Sync>),
}

/// The first reason to stop, and where it arose if that is known.
#[derive(Clone)]
pub(super) struct Stopped {
    pub(super) why: Stop,
    pub(super) place: Option<CallSite>,
}

/// A host error that was handed to the script.
#[derive(Clone)]
pub(super) struct HostFailure {
    pub(super) error: HostError,
    pub(super) place: Option<CallSite>,
}

impl Run {
    /// A run that has not begun.
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
            stopped: Mutex::new(None),
            failures: Mutex::new(Vec::new()),
            last_call: Mutex::new(None),
        }
    }

    /// The run of a call; an error when the engine is used without a [`super::Pool`].
    pub fn from_call(cx: &NativeCallContext) -> Result<Arc<Self>, Box<EvalAltResult>> {
        let run = thread_context::run().ok_or("host functions need a run")?;
        *run.last_call.lock() = Some(CallSite::from_call(cx));
        Ok(run)
    }

    /// The value of the job for its host functions.
    pub fn state<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        self.state.clone().downcast().ok()
    }

    /// The deadline of the run.
    pub fn deadline(&self) -> clock::Instant {
        self.deadline
    }

    /// Counts a host call; false when there were too many.
    pub(super) fn count_host_call(&self) -> bool {
        self.host_calls.fetch_add(1, Ordering::Relaxed) < self.limits.host_calls
    }

    /// Ends the run: the engine is stopped at its next operation, and the answer is an error for the way
    /// there, to which the engine adds the call chain.
    pub(super) fn stop(&self, why: Stop, place: Option<CallSite>) -> Box<EvalAltResult> {
        self.mark_stopped(why, place);
        thread_context::halt();
        thread_context::stop_error()
    }

    /// Notes why the run ends; the first reason stays.
    pub(super) fn mark_stopped(&self, why: Stop, place: Option<CallSite>) {
        self.stopped.lock().get_or_insert(Stopped { why, place });
    }

    /// Continues the run after a stop of one part only.
    pub(super) fn resume(&self) {
        *self.stopped.lock() = None;
    }

    /// Returns the reason that the run must end, if it must.
    pub(super) fn stopped(&self) -> Option<Stopped> {
        self.stopped.lock().clone()
    }

    /// Returns the reason of a stop from outside.
    pub(super) fn interrupted(&self) -> Option<Stop> {
        if self.cancel.is_cancelled() {
            Some(Stop::Cancelled)
        } else if clock::now() >= self.deadline {
            Some(Stop::Deadline)
        } else {
            None
        }
    }

    /// Returns the position of the last call of a host function, which is the best known position of a panic.
    pub(super) fn last_call(&self) -> Option<CallSite> {
        self.last_call.lock().clone()
    }

    /// Keeps a host error and makes the map that the script catches.
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

    /// The host error that a thrown value stands for, also when the script caught and threw it again.
    pub(super) fn failure(&self, thrown: &Dynamic) -> Option<HostFailure> {
        let index = usize::try_from(thrown.tag()).ok()?.checked_sub(1)?;
        self.failures.lock().get(index).cloned()
    }
}
