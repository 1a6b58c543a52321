//! Executes one run on a thread of the pool.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rhai::{Dynamic, EvalAltResult};

use super::engine::Engine;
use super::error::{Error, ErrorKind, panicked, report};
use super::limits::Limit;
use super::native_step::NativeEntry;
use super::program::Program;
use super::run::{Run, StopReason, Variables};
use super::{bridge, nesting, panics, thread_context};

/// Runs a program, and reports its result or error.
pub(super) fn run(
    engine: &Engine,
    run: &Arc<Run>,
    program: &Arc<Program>,
    native: Option<&NativeEntry>,
    variables: Variables,
) -> Result<Dynamic, Error> {
    match run.interrupted() {
        Some(StopReason::Cancelled) => {
            return Err(Error::without_trace(
                ErrorKind::Cancelled,
                "cancelled before it began",
            ));
        }
        Some(_) => {
            let message = "its timeout passed before it began: all script threads were busy";
            return Err(Error::without_trace(ErrorKind::Deadline, message));
        }
        None => {}
    }
    let _entered = thread_context::enter(engine, run.clone(), program.clone(), variables);
    let guarded = panics::quietly(|| {
        catch_unwind(AssertUnwindSafe(|| {
            bridge::start(engine.rhai(), program, native)
        }))
    });
    let programs = thread_context::programs();
    let Ok(answer) = guarded else {
        return Err(panicked(run, &programs, &panics::take_message()));
    };
    let failed = |error: Option<&EvalAltResult>| report(run, &programs, engine, error);
    match answer {
        // A script that caught the stop error has ended nevertheless.
        Ok(_) if run.stopped().is_some() => Err(failed(None)),
        Ok(value) => {
            let value = value.flatten();
            // Only this thread has a stack that is large enough to drop a value of any depth.
            if nesting::is_too_deep(&value) {
                run.mark_stopped(StopReason::Limit(Limit::Nesting), None);
                return Err(failed(None));
            }
            // No operation followed the last call to check its memory.
            if thread_context::is_memory_exceeded() {
                run.mark_stopped(StopReason::Limit(Limit::Memory), None);
                return Err(failed(None));
            }
            Ok(value)
        }
        Err(error) => Err(failed(Some(&error))),
    }
}
