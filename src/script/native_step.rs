//! Runs native code in place of a script, in steps. A failure of one step does not have to fail the run.

use std::sync::Arc;

use rhai::{Dynamic, EvalAltResult, NativeCallContext, Position};

use super::error::{Error, report};
use super::run::{Run, StopReason};
use super::thread_context;

/// A native function that runs in place of a program's entry.
pub type NativeEntry =
    Arc<dyn Fn(&NativeCallContext) -> Result<Dynamic, Box<EvalAltResult>> + Send + Sync>;

/// A step that failed, or that [`super::end`] ended.
#[derive(Debug)]
pub struct StepFailure {
    /// The error and its position.
    pub error: Error,
    /// The error in the form that a script can catch.
    pub thrown: Box<EvalAltResult>,
}

/// Runs a step. A call of [`super::end`] ends only the step, and the inner result contains the failure.
/// Limits, the deadline and a cancellation end the run, with the outer error.
pub fn try_step<T>(
    body: impl FnOnce() -> Result<T, Box<EvalAltResult>>,
) -> Result<Result<T, StepFailure>, Box<EvalAltResult>> {
    let answer = body();
    let run = thread_context::run().ok_or("a part needs a run")?;
    let stopped = run.stopped().map(|stopped| stopped.why);
    let thrown = match (stopped, answer) {
        (None, Ok(value)) => return Ok(Ok(value)),
        (None, Err(thrown)) if thrown.is_catchable() => thrown,
        (Some(StopReason::Ended(_)), answer) => {
            answer.err().unwrap_or_else(thread_context::stop_error)
        }
        (_, answer) => return Err(answer.err().unwrap_or_else(thread_context::stop_error)),
    };
    let engine = thread_context::engine().ok_or("a part needs a run")?;
    let error = report(&run, &thread_context::programs(), &engine, Some(&thrown));
    run.resume();
    thread_context::resume();
    Ok(Err(StepFailure { error, thrown }))
}

/// Calls host functions with this position in a file as their call site, which errors then contain. `name`
/// is the function in the call chain.
pub fn call_at<T>(
    cx: &NativeCallContext,
    name: &str,
    (file, line, column): (&str, usize, usize),
    body: impl FnOnce(&NativeCallContext) -> Result<T, Box<EvalAltResult>>,
) -> Result<T, Box<EvalAltResult>> {
    let position = position(line, column);
    let mut global = cx.engine().new_global_runtime_state();
    global.source = Some(file.into());
    global.level = cx.call_level();
    let inner = NativeCallContext::new_with_all_fields(cx.engine(), name, None, &global, position);
    // This sets the call site of errors that follow.
    Run::from_call(&inner)?;
    body(&inner).map_err(|error| {
        let error = with_position(error, position);
        let (name, file) = (name.to_owned(), file.to_owned());
        EvalAltResult::ErrorInFunctionCall(name, file, error, position).into()
    })
}

/// Adds the position to an error that has none.
fn with_position(mut error: Box<EvalAltResult>, position: Position) -> Box<EvalAltResult> {
    if error.position().is_none() {
        error.set_position(position);
    }
    error
}

/// Converts to a position of the engine, whose largest line and column is 65535.
fn position(line: usize, column: usize) -> Position {
    match (u16::try_from(line), u16::try_from(column)) {
        (Ok(0) | Err(_), _) => Position::NONE,
        (Ok(line), column) => Position::new(line, column.unwrap_or(0)),
    }
}
