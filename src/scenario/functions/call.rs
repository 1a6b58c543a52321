//! The context and the values of a function call of a scenario script.

use std::sync::Arc;
use std::time::Duration;

use rhai::{Dynamic, EvalAltResult, NativeCallContext};
use serde_json::Value;

use crate::model::duration;
use crate::scenario::context::ScenarioContext;
use crate::scenario::failure::Failure;
use crate::script::{self, HostError, Run, value};

pub(super) type ScriptResult<T> = Result<T, Box<EvalAltResult>>;

pub(super) fn context(cx: &NativeCallContext) -> ScriptResult<Arc<ScenarioContext>> {
    Run::from_call(cx)?
        .state()
        .ok_or_else(|| "called outside a scenario".into())
}

/// Waits on the script's thread.
pub(super) fn wait<T>(
    cx: &NativeCallContext,
    work: impl Future<Output = Result<T, Failure>>,
) -> ScriptResult<T> {
    script::block_on(cx, async { work.await.map_err(error) })
}

pub(super) fn error(failure: Failure) -> HostError {
    let text = [failure.message, failure.details];
    HostError::new("failed", text.join("\n").trim_end())
}

pub(super) fn script_error(failure: Failure) -> Box<EvalAltResult> {
    error(failure).into()
}

pub(super) fn json(value: &Dynamic) -> ScriptResult<Value> {
    value::to_value(value).map_err(|error| script_error(Failure::new(error.to_string())))
}

pub(super) fn parse_time(text: &str) -> ScriptResult<Duration> {
    duration::parse(text).map_err(|error| script_error(Failure::new(error.to_string())))
}
