//! Observes the runs of the operator in a scenario.

use std::collections::BTreeMap;

use parking_lot::Mutex;

use crate::controller::{Controller, RunObserver};
use crate::model::{Object, ObjectRef, Outcome, Reason};
use crate::reconcile::Report;

/// The runs of one operator.
#[derive(Default)]
pub(super) struct Runs(Mutex<RunState>);

#[derive(Default)]
struct RunState {
    controller: Option<Controller>,
    count: usize,
    last: BTreeMap<ObjectRef, LastRun>,
}

/// The last run of a custom resource.
#[derive(Clone, Debug)]
pub(super) struct LastRun {
    uid: Box<str>,
    generation: i64,
    /// The outcome.
    pub(super) outcome: Outcome,
    /// The number of runs that an annotation requested.
    pub(super) requested: usize,
}

impl RunObserver for Runs {
    fn run_ended(&self, reason: Reason, report: &Report) {
        let mut seen = self.0.lock();
        seen.count += 1;
        let object = report.cr.object_ref();
        let before = seen.last.get(&object).map_or(0, |last| last.requested);
        let last = LastRun {
            uid: report.cr.uid.clone(),
            generation: report.cr.generation,
            outcome: report.outcome.clone(),
            requested: before + usize::from(reason == Reason::Requested),
        };
        seen.last.insert(object, last);
    }

    fn serving(&self, controller: &Controller) {
        self.0.lock().controller = Some(controller.clone());
    }
}

impl Runs {
    /// Returns whether no run is on its way or due now.
    pub(super) fn is_idle(&self) -> bool {
        let seen = self.0.lock();
        seen.controller.as_ref().is_none_or(Controller::is_idle)
    }

    /// Returns whether an operator serves.
    pub(super) fn is_serving(&self) -> bool {
        self.0.lock().controller.is_some()
    }

    /// Returns the number of runs.
    pub(super) fn count(&self) -> usize {
        self.0.lock().count
    }

    /// Returns the last run of this custom resource, if it was for the current generation.
    pub(super) fn last_run(&self, cr: &Object) -> Option<LastRun> {
        let last = self.0.lock().last.get(&cr.object_ref()).cloned();
        last.filter(|last| last.uid == cr.uid && last.generation >= cr.generation)
    }

    /// Returns the custom resources with runs.
    pub(super) fn objects(&self) -> Vec<ObjectRef> {
        self.0.lock().last.keys().cloned().collect()
    }

    /// Records that the operator stopped.
    pub(super) fn operator_stopped(&self) {
        self.0.lock().controller = None;
    }
}
