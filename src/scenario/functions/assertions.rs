//! Assertions.

use std::time::Duration;

use rhai::plugin::export_module;
use rhai::{Dynamic, FnPtr, NativeCallContext};
use serde_json::Value;

use super::call::{ScriptResult, context, json, parse_time, script_error, wait};
use crate::clock;
use crate::model::duration;
use crate::scenario::compare::{difference, mismatches};
use crate::scenario::failure::Failure;

#[export_module]
pub(super) mod functions {
    /// Fails the stage unless something holds.
    #[rhai_fn(name = "assert", volatile, return_raw)]
    pub(crate) fn assert(holds: bool) -> ScriptResult<()> {
        assert_or(holds, "the assertion failed")
    }

    #[rhai_fn(name = "assert", volatile, return_raw)]
    pub(crate) fn assert_or(holds: bool, message: &str) -> ScriptResult<()> {
        if holds {
            return Ok(());
        }
        Err(script_error(Failure::new(message)))
    }

    /// Fails the stage unless a value is another, with a diff.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn assert_eq(actual: Dynamic, expected: Dynamic) -> ScriptResult<()> {
        let (actual, expected) = (json(&actual)?, json(&expected)?);
        if actual == expected {
            return Ok(());
        }
        Err(script_error(differs(
            &expected,
            &actual,
            "the values differ",
        )))
    }

    /// Fails the stage unless a value holds all that is expected, with a diff.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn assert_match(actual: Dynamic, expected: Dynamic) -> ScriptResult<()> {
        let (actual, expected) = (json(&actual)?, json(&expected)?);
        match mismatches(&expected, &actual).first() {
            None => Ok(()),
            Some(first) => Err(script_error(differs(
                &expected,
                &actual,
                &first.to_string(),
            ))),
        }
    }

    /// Fails the stage unless a value is as in the golden snapshot of a name, with a diff.
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn assert_snapshot(
        cx: NativeCallContext,
        name: &str,
        value: Dynamic,
    ) -> ScriptResult<()> {
        let (context, value) = (context(&cx)?, json(&value)?);
        let checked = context.snapshots.check(name, &value, &context.namespace);
        checked.map_err(script_error)
    }

    /// Calls a function again and again, while time passes, until it does not fail and does not return
    /// `false`.
    #[rhai_fn(name = "eventually", volatile, return_raw)]
    pub(crate) fn eventually(cx: NativeCallContext, check: FnPtr) -> ScriptResult<Dynamic> {
        let within = context(&cx)?.deadline;
        retry(&cx, within, &check)
    }

    #[rhai_fn(name = "eventually", volatile, return_raw)]
    pub(crate) fn eventually_within(
        cx: NativeCallContext,
        within: &str,
        check: FnPtr,
    ) -> ScriptResult<Dynamic> {
        retry(&cx, parse_time(within)?, &check)
    }
}

fn differs(expected: &Value, actual: &Value, message: &str) -> Failure {
    Failure::new(message).with_details(difference(expected, actual))
}

/// Calls a function until it succeeds. Returns the last failure when the time is over.
fn retry(cx: &NativeCallContext, within: Duration, check: &FnPtr) -> ScriptResult<Dynamic> {
    let context = context(cx)?;
    let deadline = clock::now() + within;
    loop {
        if context.environment.is_embedded() {
            wait(cx, context.settle())?;
        }
        let answer = check.call_within_context::<Dynamic>(cx, ());
        let over = clock::now() >= deadline;
        match answer {
            Ok(answer) if answer.as_bool() == Ok(false) => {
                if over {
                    let message = format!(
                        "the condition was not met within {}",
                        duration::format(within)
                    );
                    return Err(script_error(Failure::new(message)));
                }
            }
            Err(error) if over => return Err(error),
            Err(_) => {}
            Ok(answer) => return Ok(answer),
        }
        wait(cx, async {
            context.environment.wait_before_retry().await;
            Ok(())
        })?;
    }
}
