//! Runs pipelines: walks the graph of steps from its beginning, in each run.
//!
//! # Flow
//! 1. Steps are done one after the other, in the order of the file as far as their needs allow it.
//! 2. A step whose `when` does not hold is skipped; so what it applied in earlier runs is pruned.
//! 3. A step that fails, or whose gates are closed, holds up those that need it and nobody else.
//! 4. In the end the run fails if a step failed, naming all that did; else it waits if a step waits, on
//!    all objects that any of them waits for; else it is done, and the value is the map of results.
//!
//! # Guarantees
//! - What steps do, they do by the functions that scripts call: the same traces, fences, budgets,
//!   ownership and secrets.
//! - Nothing sleeps. What must be known of former runs (since when a step waits, how often it failed) is
//!   in the cluster: [`crate::pipeline::history::StepHistory`].
//! - A step sees the results only of steps that are done.
//!
//! # Caveats
//! A run that ends early (deadline, limits, cancellation) remembers what was remembered before it.

mod action;
mod bounds;
mod evaluate;
mod executor;
mod gate;
mod outcome;
mod step;

use std::sync::Arc;

use rhai::{Dynamic, Map, NativeCallContext};

use self::executor::Walk;
use self::outcome::Verdict;
use crate::host::Answer;
use crate::host::session::{Ending, Session};
use crate::pipeline::{Pipeline, scope};
use crate::pipeline::{StepHistory, StepSelection};
use crate::role::Entry;
use crate::script::{self, HostError, Native};
use crate::telemetry::log;

/// What takes the place of a script for an entry that is a pipeline.
pub fn native(entry: &Entry) -> Option<Native> {
    match entry {
        Entry::Script(_) => None,
        Entry::Pipeline(pipeline) => {
            let pipeline = Arc::clone(pipeline);
            Some(Arc::new(move |cx| run(cx, &pipeline)))
        }
    }
}

/// Runs a pipeline as the whole of a run, or as a role that another includes.
fn run(cx: &NativeCallContext, pipeline: &Pipeline) -> Answer<Dynamic> {
    let session = Session::of(cx)?;
    let is_whole = session.included.lock().is_empty() && session.open.lock().is_empty();
    let everything = StepSelection::default();
    let selection = if is_whole {
        &session.setup.selection
    } else {
        &everything
    };
    let walk = Walk::new(&session, selection);
    script::set_variable(scope::RESULTS, Map::new().into());
    let verdict = walk.list(cx, &pipeline.steps)?;
    let generation = session.setup.step_history.generation;
    let mut effects = session.effects();
    effects.partial |= !selection.is_all();
    effects
        .step_history
        .get_or_insert_with(|| StepHistory::none(generation));
    drop(effects);
    if is_whole {
        whole(cx, verdict)?;
        return Ok(Dynamic::UNIT);
    }
    part(cx, verdict)?;
    Ok(walk.results().into())
}

/// How a run ends that is nothing but a pipeline.
fn whole(cx: &NativeCallContext, mut verdict: Verdict) -> Answer<()> {
    if let Some(thrown) = verdict.take_decisive() {
        return Err(thrown);
    }
    let ending = verdict.ending();
    if let Some(Ending::Broken { message, .. }) = &ending {
        let session = Session::of(cx)?;
        let message = session.setup.redactor.public(message);
        log::error!("steps failed", error = message);
    }
    match ending {
        Some(ending) => Err(script::end(cx, Arc::new(ending))),
        None => Ok(()),
    }
}

/// The same of a role that another includes, which may catch what its own functions may fail with.
fn part(cx: &NativeCallContext, mut verdict: Verdict) -> Answer<()> {
    let ending = verdict.ending();
    match ending {
        Some(Ending::Broken {
            terminal: false, ..
        }) if verdict.failures.len() == 1 => {
            let failure = verdict.failures.swap_remove(0);
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
