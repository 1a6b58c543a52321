//! Functions for host functions: from the script's thread to async code and back.

use std::any::Any;
use std::sync::Arc;

use rhai::{AST, Dynamic, EvalAltResult, NativeCallContext, Position, Scope};

use super::error::{CallSite, HostError};
use super::limits::Limit;
use super::native_step::NativeEntry;
use super::program::Program;
use super::run::{Run, Stop, Variables};
use super::snippet::SnippetId;
use super::thread_context;
use crate::clock;

/// Waits for a host call on the script's thread. Ends the run, uncatchably, when it is cancelled, past
/// its deadline, or has made too many calls; a [`HostError`] can be caught by the script as a map.
pub fn block_on<T>(
    cx: &NativeCallContext,
    call: impl Future<Output = Result<T, HostError>>,
) -> Result<T, Box<EvalAltResult>> {
    let run = Run::from_call(cx)?;
    if !run.count_host_call() {
        return Err(run.stop(Stop::Limit(Limit::HostCalls), Some(CallSite::from_call(cx))));
    }
    self::checkpoint()?;
    let answer = run.runtime.block_on(async {
        tokio::select! {
            biased;
            () = run.cancel.cancelled() => Err(Stop::Cancelled),
            () = clock::sleep_until(run.deadline) => Err(Stop::Deadline),
            answer = call => Ok(answer),
        }
    });
    match answer {
        Ok(answer) => answer.map_err(Into::into),
        Err(why) => Err(run.stop(why, Some(CallSite::from_call(cx)))),
    }
}

/// Ends the run from within a host function: an error that no script can catch.
/// [`super::Pool::run`] then answers [`super::Kind::Ended`] with `ending`.
pub fn end(cx: &NativeCallContext, ending: Arc<dyn Any + Send + Sync>) -> Box<EvalAltResult> {
    match Run::from_call(cx) {
        Ok(run) => run.stop(Stop::Ended(ending), Some(CallSite::from_call(cx))),
        Err(error) => error,
    }
}

/// Runs another program inside this run, with other variables and the same state, limits and deadline:
/// the value of its last expression, or what native code in its place answers.
pub fn include(
    cx: &NativeCallContext,
    program: &Arc<Program>,
    native: Option<&NativeEntry>,
    variables: Variables,
) -> Result<Dynamic, Box<EvalAltResult>> {
    let run = Run::from_call(cx)?;
    thread_context::with_program(program, variables, || start(cx.engine(), program, native))
        .unwrap_or_else(|| Err(run.stop(Stop::Limit(Limit::Depth), Some(CallSite::from_call(cx)))))
        .map_err(|error| {
            let role = format!("role {}", program.name());
            let file = program.entry().to_owned();
            EvalAltResult::ErrorInFunctionCall(role, file, error, cx.call_position()).into()
        })
}

/// Evaluates a fragment of the program at work, within the current run. It sees the run's variables as
/// [`set_variable`] left them.
pub fn evaluate(
    cx: &NativeCallContext,
    fragment: SnippetId,
) -> Result<Dynamic, Box<EvalAltResult>> {
    let program = thread_context::program().ok_or("a fragment needs a run")?;
    let compiled = program
        .snippets
        .get(fragment.0)
        .ok_or("the program has no such fragment")?;
    of_ast(cx.engine(), &compiled.ast).map_err(|error| {
        // By its label the place of the error is found in the file around the fragment.
        let (name, label) = (compiled.name().to_owned(), compiled.label.clone());
        EvalAltResult::ErrorInFunctionCall(name, label, error, cx.call_position()).into()
    })
}

/// Gives a variable of the program at work another value, or adds one. Included programs do not see it.
pub fn set_variable(name: &'static str, value: Dynamic) {
    thread_context::set_variable(name, value);
}

/// Sets or removes a key of a variable of the program at work that is a map: what it was before.
pub fn put_variable(name: &str, key: &str, value: Option<Dynamic>) -> Option<Dynamic> {
    thread_context::put_variable(name, key, value)
}

/// A variable of the program at work.
pub fn variable(name: &str) -> Option<Dynamic> {
    thread_context::variable(name)
}

/// Returns an error that ends the run of this thread, uncatchably, where the run is cancelled, past its
/// deadline, or has allocated more than it may. Without a run on this thread, all is well.
///
/// Native code that takes more than some milliseconds, or that allocates in a loop, calls this between
/// two steps of its work. Code that knows no scripts calls [`checkpoint::pass`], which looks here.
pub fn checkpoint() -> Result<(), Box<EvalAltResult>> {
    checkpoint::pass().map_err(|checkpoint::Interrupted| thread_context::stop_error())
}

/// As [`checkpoint`], for inner loops: looks now and then only.
pub fn tick() -> Result<(), Box<EvalAltResult>> {
    checkpoint::tick().map_err(|checkpoint::Interrupted| thread_context::stop_error())
}

/// Runs a program's entry on this thread, within the current run.
pub(super) fn start(
    engine: &rhai::Engine,
    program: &Program,
    native: Option<&NativeEntry>,
) -> Result<Dynamic, Box<EvalAltResult>> {
    if let Some(native) = native {
        let mut global = engine.new_global_runtime_state();
        global.source = Some(program.entry().into());
        let cx = NativeCallContext::new_with_all_fields(
            engine,
            "pipeline",
            None,
            &global,
            Position::NONE,
        );
        return native(&cx);
    }
    let Some(file) = program.files.get(&program.entry) else {
        return Ok(Dynamic::UNIT);
    };
    of_ast(engine, &file.ast)
}

fn of_ast(engine: &rhai::Engine, ast: &AST) -> Result<Dynamic, Box<EvalAltResult>> {
    engine
        .eval_ast_with_scope(&mut Scope::new(), ast)
        .or_else(|error| match error.unwrap_inner() {
            // From within a closure that a native function called.
            EvalAltResult::Exit(value, _) => Ok(value.clone()),
            _ => Err(error),
        })
}
