//! Native code in the place of a script: what it does is split into parts, and a part that fails need
//! not fail the run.

use std::sync::Arc;

use rhai::{Dynamic, EvalAltResult, NativeCallContext, Position};

use super::current;
use super::error::{Error, report};
use super::run::{Run, Stop};

/// Code of the host, which a program without an entry of its own runs.
pub type Native =
    Arc<dyn Fn(&NativeCallContext) -> Result<Dynamic, Box<EvalAltResult>> + Send + Sync>;

/// A part of a run that failed, or that [`super::end`] ended.
#[derive(Debug)]
pub struct Failure {
    /// The error and its position.
    pub error: Error,
    /// As a script would catch it.
    pub thrown: Box<EvalAltResult>,
}

/// Does a part of a run. What [`super::end`] ended within it ends the part only; what ends a run from
/// outside (limits, deadline, cancellation) is an error of the whole.
pub fn attempt<T>(
    body: impl FnOnce() -> Result<T, Box<EvalAltResult>>,
) -> Result<Result<T, Failure>, Box<EvalAltResult>> {
    let answer = body();
    let run = current::run().ok_or("a part needs a run")?;
    let stopped = run.stopped().map(|stopped| stopped.why);
    let thrown = match (stopped, answer) {
        (None, Ok(value)) => return Ok(Ok(value)),
        (None, Err(thrown)) if thrown.is_catchable() => thrown,
        (Some(Stop::Ended(_)), answer) => answer.err().unwrap_or_else(current::over),
        (_, answer) => return Err(answer.err().unwrap_or_else(current::over)),
    };
    let engine = current::engine().ok_or("a part needs a run")?;
    let error = report(&run, &current::programs(), &engine, Some(&thrown));
    run.go_on();
    current::go_on();
    Ok(Err(Failure { error, thrown }))
}

/// Calls host functions as from a place of a file, which errors then name: within `name`.
pub fn at<T>(
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
    // From here on this is the place that errors arose at.
    Run::of(&inner)?;
    body(&inner).map_err(|error| {
        let error = placed(error, position);
        let (name, file) = (name.to_owned(), file.to_owned());
        EvalAltResult::ErrorInFunctionCall(name, file, error, position).into()
    })
}

/// The error with a position, where it has none.
fn placed(mut error: Box<EvalAltResult>, position: Position) -> Box<EvalAltResult> {
    if error.position().is_none() {
        error.set_position(position);
    }
    error
}

/// A position of the engine, which ends at line and column 65535.
fn position(line: usize, column: usize) -> Position {
    match (u16::try_from(line), u16::try_from(column)) {
        (Ok(0) | Err(_), _) => Position::NONE,
        (Ok(line), column) => Position::new(line, column.unwrap_or(0)),
    }
}
