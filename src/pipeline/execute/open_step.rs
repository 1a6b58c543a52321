//! Records a step of a run for the report, from its start to its end.

use std::sync::Arc;

use super::outcome::StepOutcome;
use crate::clock::{self, Instant};
use crate::host::Session;
use crate::pipeline::StepReport;
use crate::pipeline::step::Step;

/// A step that is being executed. It is on the session's stack of open steps until it is dropped.
pub(super) struct OpenStep<'a> {
    session: &'a Session,
    step: &'a Step,
    name: Arc<str>,
    since: Instant,
    calls: usize,
    writes: usize,
    is_open: bool,
}

impl<'a> OpenStep<'a> {
    pub(super) fn new(session: &'a Session, step: &'a Step) -> Self {
        let mut open = session.open.lock();
        let name = open.name(&step.name);
        open.begin(&name);
        drop(open);
        let effects = session.effects();
        Self {
            session,
            step,
            name,
            since: clock::now(),
            calls: effects.called(),
            writes: effects.writes.len(),
            is_open: true,
        }
    }

    /// Returns its path: `install/primary`, within an included role `role:install/primary`.
    pub(super) fn path(&self) -> String {
        let path = self.session.open.lock().path();
        match self.session.included.lock().last() {
            Some(inner) => format!("{}:{path}", inner.role.name),
            None => path,
        }
    }

    /// Ends the step, and adds its outcome to the report.
    pub(super) fn close(mut self, list: &[Step], index: usize, outcome: &StepOutcome) {
        let mut open = self.session.open.lock();
        let steps = open.end();
        self.is_open = false;
        let mut effects = self.session.effects();
        let needs = self.step.needs.iter();
        let report = StepReport {
            name: Arc::clone(&self.name),
            action: self.step.action.key(),
            location: self.step.location.clone(),
            number: index + 1,
            of: list.len(),
            needs: needs.map(|need| Arc::clone(&list[*need].name)).collect(),
            state: outcome.state(),
            message: self.session.setup.redactor.public(&outcome.message(list)),
            at: self.since.duration_since(self.session.started),
            took: self.since.elapsed(),
            calls: effects.called() - self.calls,
            writes: self.writes..effects.writes.len(),
            steps,
        };
        effects.steps.extend(open.keep(report));
    }
}

impl Drop for OpenStep<'_> {
    fn drop(&mut self) {
        if self.is_open {
            self.session.open.lock().end();
        }
    }
}
