//! One step: its variables, its condition, its loop, its action, its gates.

use std::sync::Arc;

use rhai::{Array, Dynamic, Map, NativeCallContext};

use super::action::Made;
use super::evaluate as value;
use super::executor::{Walk, state};
use super::outcome::{Failure, Stand, Wait, ending};
use crate::clock::{self, Instant};
use crate::host::session::{Ending, Session};
use crate::host::{Answer, path};
use crate::pipeline::StepReport;
use crate::pipeline::{Step, scope};
use crate::script;
use crate::telemetry::log;

impl Walk<'_> {
    /// Does a step: how it stands, its timeout and its retries considered.
    pub(super) fn step(&self, cx: &NativeCallContext, step: &Step, path: String) -> Answer<Stand> {
        let span = log::span!(
            "step",
            path = self.session.setup.redactor.public(&path),
            action = step.action.key(),
        );
        let _entered = span.enter();
        let stand = self.contain(cx, step, |cx| match &step.repeat {
            None => self.once(cx, step),
            Some(repeat) => self.each(cx, step, value::items(cx, repeat)?),
        })?;
        let stand = self.bounded(cx, step, path, stand)?;
        log::debug!("step", state = state(&stand).as_str());
        Ok(stand)
    }

    /// Does a part of a step, whose failures and waits are those of the step.
    fn contain(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        body: impl FnOnce(&NativeCallContext) -> Answer<Stand>,
    ) -> Answer<Stand> {
        let failure = match script::attempt(|| placed(cx, step, body))? {
            Ok(stand) => return Ok(stand),
            Err(failure) => failure,
        };
        match ending(&failure.error) {
            Some(Ending::Gone) => Err(script::end(cx, Arc::new(Ending::Gone))),
            Some(Ending::Waiting { on, objects }) => Ok(Stand::Waiting(vec![Wait {
                on: on.clone(),
                objects: objects.clone(),
            }])),
            _ => {
                let failure = Failure::new(&step.name, failure);
                let text = format!("{:#}", failure.told());
                let text = self.session.setup.redactor.public(&text);
                log::warn!("step failed", error = text);
                Ok(Stand::Failed(vec![failure]))
            }
        }
    }

    /// Does a step for each item. One that waits or fails does not hold up the others.
    fn each(&self, cx: &NativeCallContext, step: &Step, items: Array) -> Answer<Stand> {
        let outer = script::variable(scope::ITEM).unwrap_or_default();
        let (mut results, mut waits, mut failures) = (Array::new(), Vec::new(), Vec::new());
        for (index, item) in items.into_iter().enumerate() {
            script::checkpoint()?;
            script::set_variable(scope::ITEM, item);
            self.session.open.lock().set_item(Some(index));
            match self.contain(cx, step, |cx| self.once(cx, step))? {
                Stand::Done(result) => {
                    results.push(result);
                }
                Stand::Waiting(more) => waits.extend(more.into_iter().map(|wait| Wait {
                    on: format!("item {index}: {}", wait.on),
                    ..wait
                })),
                Stand::Failed(more) => failures.extend(more.into_iter().map(|failure| Failure {
                    message: format!("item {index}: {}", failure.message),
                    ..failure
                })),
                Stand::Skipped | Stand::Unselected | Stand::Blocked(_) => {}
            }
        }
        self.session.open.lock().set_item(None);
        script::set_variable(scope::ITEM, outer);
        Ok(super::outcome::Verdict { waits, failures }.stand(|| results.into()))
    }

    /// Does a step once.
    fn once(&self, cx: &NativeCallContext, step: &Step) -> Answer<Stand> {
        if step.vars.is_empty() {
            return self.within_vars(cx, step);
        }
        let outer = script::variable("vars").unwrap_or_default();
        let answer = lay_over(cx, step, &outer).and_then(|()| self.within_vars(cx, step));
        script::set_variable("vars", outer);
        answer
    }

    fn within_vars(&self, cx: &NativeCallContext, step: &Step) -> Answer<Stand> {
        for test in &step.when {
            if !value::holds(cx, test)? {
                return Ok(Stand::Skipped);
            }
        }
        let made = match self.act(cx, step)? {
            Made::Stand(stand @ (Stand::Waiting(_) | Stand::Failed(_))) => return Ok(stand),
            made => made,
        };
        let result = made.result()?;
        let waits = self.gates(cx, step, &made, &result)?;
        if waits.is_empty() {
            Ok(Stand::Done(result))
        } else {
            Ok(Stand::Waiting(waits))
        }
    }
}

/// Does what a step does, as called from its place.
pub(super) fn placed<T>(
    cx: &NativeCallContext,
    step: &Step,
    body: impl FnOnce(&NativeCallContext) -> Answer<T>,
) -> Answer<T> {
    let name = format!("step {}", step.name);
    script::at(cx, &name, value::place(&step.place), body)
}

/// Lays the variables of a step over those around it; each sees those before it.
fn lay_over(cx: &NativeCallContext, step: &Step, outer: &Dynamic) -> Answer<()> {
    let mut vars = outer.clone().try_cast::<Map>().unwrap_or_default();
    for entry in &step.vars {
        let over = value::named(cx, std::slice::from_ref(entry))?;
        vars = path::merged(vars, over)?;
        script::set_variable("vars", vars.clone().into());
    }
    Ok(())
}

/// A step that is being looked at, for the report.
pub(super) struct Opened<'a> {
    session: &'a Session,
    step: &'a Step,
    name: Arc<str>,
    since: Instant,
    calls: usize,
    writes: usize,
}

impl<'a> Opened<'a> {
    /// Begins a step.
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
        }
    }

    /// Its path: `install/primary`, within a role that is included `role:install/primary`.
    pub(super) fn path(&self) -> String {
        let path = self.session.open.lock().path();
        match self.session.included.lock().last() {
            Some(inner) => format!("{}:{path}", inner.role.name),
            None => path,
        }
    }

    /// Keeps how it stands.
    pub(super) fn close(self, list: &[Step], index: usize, stand: &Stand) {
        let mut open = self.session.open.lock();
        let steps = open.end();
        let mut effects = self.session.effects();
        let needs = self.step.needs.iter();
        let step = StepReport {
            name: self.name,
            action: self.step.action.key(),
            place: self.step.place.clone(),
            number: index + 1,
            of: list.len(),
            needs: needs.map(|need| Arc::clone(&list[*need].name)).collect(),
            state: state(stand),
            message: self.session.setup.redactor.public(&message(list, stand)),
            at: self.since.duration_since(self.session.started),
            took: self.since.elapsed(),
            calls: effects.called() - self.calls,
            writes: self.writes..effects.writes.len(),
            steps,
        };
        effects.steps.extend(open.keep(step));
    }
}

/// Why a step is not done, for people.
fn message(list: &[Step], stand: &Stand) -> String {
    let parts: Vec<&str> = match stand {
        Stand::Waiting(waits) => waits.iter().map(|wait| &*wait.on).collect(),
        Stand::Failed(failures) => failures.iter().map(|failure| &*failure.message).collect(),
        Stand::Blocked(needs) => needs.iter().map(|need| &*list[*need].name).collect(),
        Stand::Done(_) | Stand::Skipped | Stand::Unselected => Vec::new(),
    };
    parts.join("; ")
}
