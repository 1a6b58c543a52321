//! Executes a step: its variables, condition, loop, action and gates.

use std::sync::Arc;

use rhai::{Array, Map, NativeCallContext};

use super::action::ActionResult;
use super::evaluate;
use super::executor::Executor;
use super::failure::{Failure, Wait, ending};
use super::guards::{ItemGuard, VariableGuard};
use super::outcome::{ListOutcome, StepOutcome};
use crate::host::session::Ending;
use crate::host::{HostResult, path};
use crate::pipeline::scope;
use crate::pipeline::step::Step;
use crate::script;
use crate::telemetry::log;

impl Executor<'_> {
    /// Executes a step within its timeout and its retries.
    pub(super) fn step(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        path: String,
    ) -> HostResult<StepOutcome> {
        let span = log::span!(
            "step",
            path = self.session.setup.redactor.public(&path),
            action = step.action.key(),
        );
        let _entered = span.enter();
        let outcome = self.contain(cx, step, |cx| match &step.repeat {
            None => self.execute_once(cx, step),
            Some(repeat) => self.execute_loop(cx, step, evaluate::items(cx, repeat)?),
        })?;
        let outcome = self.bounded(cx, step, path, outcome)?;
        log::debug!("step", state = outcome.state().as_str());
        Ok(outcome)
    }

    /// Executes a part of a step. Its failures and waits become the outcome of the step.
    fn contain(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        body: impl FnOnce(&NativeCallContext) -> HostResult<StepOutcome>,
    ) -> HostResult<StepOutcome> {
        let failure = match script::try_step(|| evaluate::in_step(cx, step, body))? {
            Ok(outcome) => return Ok(outcome),
            Err(failure) => failure,
        };
        match ending(&failure.error) {
            Some(Ending::Gone) => Err(script::end(cx, Arc::new(Ending::Gone))),
            Some(Ending::Waiting { on, objects }) => Ok(StepOutcome::Waiting(vec![Wait {
                on: on.clone(),
                objects: objects.clone(),
            }])),
            _ => {
                let failure = Failure::new(&step.name, failure);
                let text = format!("{:#}", failure.log_error());
                let text = self.session.setup.redactor.public(&text);
                log::warn!("step failed", error = text);
                Ok(StepOutcome::Failed(vec![failure]))
            }
        }
    }

    /// Executes a step for each item. An item that waits or fails does not block the others.
    fn execute_loop(
        &self,
        cx: &NativeCallContext,
        step: &Step,
        items: Array,
    ) -> HostResult<StepOutcome> {
        let (mut results, mut all) = (Array::new(), ListOutcome::default());
        for (index, item) in items.into_iter().enumerate() {
            script::checkpoint()?;
            let _variable = VariableGuard::set(scope::ITEM, item);
            let _item = ItemGuard::new(self.session, index);
            match self.contain(cx, step, |cx| self.execute_once(cx, step))? {
                StepOutcome::Done(result) => results.push(result),
                outcome => all.add(&format!("item {index}"), outcome),
            }
        }
        Ok(all.into_step_outcome(|| results.into()))
    }

    fn execute_once(&self, cx: &NativeCallContext, step: &Step) -> HostResult<StepOutcome> {
        let _guard = set_vars(cx, step)?;
        for test in &step.when {
            if !evaluate::is_true(cx, test)? {
                return Ok(StepOutcome::Skipped);
            }
        }
        let done = match self.execute_action(cx, step)? {
            ActionResult::Steps(outcome @ (StepOutcome::Waiting(_) | StepOutcome::Failed(_))) => {
                return Ok(outcome);
            }
            done => done,
        };
        let result = done.value()?;
        let waits = self.gates(cx, step, &done, &result)?;
        if waits.is_empty() {
            Ok(StepOutcome::Done(result))
        } else {
            Ok(StepOutcome::Waiting(waits))
        }
    }
}

/// Merges the variables of a step into `vars` until the guard is dropped. Each sees those before it.
fn set_vars(cx: &NativeCallContext, step: &Step) -> HostResult<Option<VariableGuard>> {
    if step.vars.is_empty() {
        return Ok(None);
    }
    let guard = VariableGuard::keep(scope::VARS);
    let mut vars = guard.outer().clone().try_cast::<Map>().unwrap_or_default();
    for entry in &step.vars {
        let over = evaluate::variables(cx, std::slice::from_ref(entry))?;
        vars = path::merged(vars, over)?;
        script::set_variable(scope::VARS, vars.clone().into());
    }
    Ok(Some(guard))
}
