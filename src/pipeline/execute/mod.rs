//! Executes pipelines. Each run executes the graph of steps from its beginning.
//!
//! # Flow
//! 1. Steps are executed one after the other, in the order of the file as far as their needs allow it.
//! 2. A step whose `when` is false is skipped; the children that it applied in earlier runs are pruned.
//! 3. A step that fails, or whose gates are closed, blocks only the steps that need it.
//! 4. At the end, the run fails if a step failed, and names all failed steps. Otherwise it waits if a step
//!    waits, for all objects that any step waits for. Otherwise it is done, and its value is the map of
//!    results.
//!
//! # Guarantees
//! - Steps act through the functions that scripts call: with the same traces, permissions, limits,
//!   ownership and redaction.
//! - Nothing sleeps. The time since which a step waits, and the number of its failures, are stored in the
//!   cluster: [`StepHistory`].
//! - A step sees only results of steps that are done.
//! - Variables, items and namespaces are restored by guards (`guards.rs`), also after an error.
//!
//! # Caveats
//! A run that ends early (deadline, limits, cancellation) does not change the history.

mod action;
mod bounds;
mod evaluate;
mod executor;
mod failure;
mod gate;
mod guards;
mod open_step;
mod outcome;
mod step;

use std::sync::Arc;

use rhai::{Dynamic, Map, NativeCallContext};

use self::executor::Executor;
use self::outcome::ListOutcome;
use crate::host::session::Ending;
use crate::host::{HostResult, Session};
use crate::pipeline::step::Pipeline;
use crate::pipeline::{StepHistory, StepSelection, scope};
use crate::role::Entry;
use crate::script::{self, HostError, NativeEntry};
use crate::telemetry::log;

/// Returns the native code that replaces the script of an entry that is a pipeline.
pub(crate) fn native(entry: &Entry) -> Option<NativeEntry> {
    match entry {
        Entry::Script(_) => None,
        Entry::Pipeline(pipeline) => {
            let pipeline = Arc::clone(pipeline);
            Some(Arc::new(move |cx| run(cx, &pipeline)))
        }
    }
}

/// Executes a pipeline, either as the whole run or as an included role.
fn run(cx: &NativeCallContext, pipeline: &Pipeline) -> HostResult<Dynamic> {
    let session = Session::from_call(cx)?;
    let is_whole = session.included.lock().is_empty() && session.open.lock().is_empty();
    let everything = StepSelection::default();
    let selection = if is_whole {
        &session.setup.selection
    } else {
        &everything
    };
    let executor = Executor::new(&session, selection);
    script::set_variable(scope::RESULTS, Map::new().into());
    let namespace = executor.enter_namespace();
    let outcome = executor.list(cx, &pipeline.steps)?;
    let generation = session.setup.step_history.generation;
    let mut effects = session.effects();
    effects.partial |= !selection.is_all();
    effects
        .step_history
        .get_or_insert_with(|| StepHistory::none(generation));
    drop(effects);
    if is_whole {
        end_run(cx, outcome)?;
        return Ok(Dynamic::UNIT);
    }
    end_included_role(cx, outcome)?;
    Ok(namespace.take_results().into())
}

/// Ends a run that consists of a pipeline, unless all steps are done.
fn end_run(cx: &NativeCallContext, mut outcome: ListOutcome) -> HostResult<()> {
    if let Some(thrown) = outcome.take_decisive() {
        return Err(thrown);
    }
    let ending = outcome.ending();
    if let Some(Ending::Broken { message, .. }) = &ending {
        let session = Session::from_call(cx)?;
        let message = session.setup.redactor.public(message);
        log::error!("steps failed", error = message);
    }
    match ending {
        Some(ending) => Err(script::end(cx, Arc::new(ending))),
        None => Ok(()),
    }
}

/// Ends an included role, unless all steps are done. The role that includes it can catch an error that is
/// not terminal.
fn end_included_role(cx: &NativeCallContext, mut outcome: ListOutcome) -> HostResult<()> {
    match outcome.ending() {
        Some(Ending::Broken {
            terminal: false, ..
        }) if outcome.failures.len() == 1 => {
            let failure = outcome.failures.swap_remove(0);
            Err(failure.thrown)
        }
        Some(Ending::Broken {
            message,
            after,
            terminal: false,
        }) => Err(HostError {
            retryable: true,
            after,
            ..HostError::new("steps", message)
        }
        .into()),
        Some(ending) => Err(script::end(cx, Arc::new(ending))),
        None => Ok(()),
    }
}
