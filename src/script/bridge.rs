//! The interface between host functions and the run that called them: async calls, ends, variables.

use std::any::Any;
use std::sync::Arc;

use rhai::{AST, Dynamic, EvalAltResult, NativeCallContext, Position, Scope};

use super::call_site::CallSite;
use super::host_error::HostError;
use super::limits::Limit;
use super::native_step::NativeEntry;
use super::program::Program;
use super::run::{Run, StopReason, Variables};
use super::snippet::SnippetId;
use super::thread_context;
use crate::clock;

/// Waits for a host call on the script's thread. The script can catch a [`HostError`] as a map. If the run
/// is cancelled, past its deadline, or has made too many calls, the run ends, and the script cannot catch
/// the error.
pub fn block_on<T>(
    cx: &NativeCallContext,
    call: impl Future<Output = Result<T, HostError>>,
) -> Result<T, Box<EvalAltResult>> {
    let run = Run::from_call(cx)?;
    if !run.count_host_call() {
        return Err(run.stop(
            StopReason::Limit(Limit::HostCalls),
            Some(CallSite::from_call(cx)),
        ));
    }
    self::checkpoint()?;
    let answer = run.runtime.block_on(async {
        tokio::select! {
            biased;
            () = run.cancel.cancelled() => Err(StopReason::Cancelled),
            () = clock::sleep_until(run.deadline) => Err(StopReason::Deadline),
            answer = call => Ok(answer),
        }
    });
    match answer {
        Ok(answer) => answer.map_err(Into::into),
        Err(why) => Err(run.stop(why, Some(CallSite::from_call(cx)))),
    }
}

/// Counts an object that the run is about to apply. Ends the run if there were too many.
pub fn count_object(cx: &NativeCallContext) -> Result<(), Box<EvalAltResult>> {
    let run = Run::from_call(cx)?;
    if run.count_object() {
        return Ok(());
    }
    Err(run.stop(
        StopReason::Limit(Limit::Objects),
        Some(CallSite::from_call(cx)),
    ))
}

/// Returns the error with which a host function ends the run. A script cannot catch it.
/// [`super::Pool::run`] then returns [`super::ErrorKind::Ended`] with `ending`.
pub fn end(cx: &NativeCallContext, ending: Arc<dyn Any + Send + Sync>) -> Box<EvalAltResult> {
    match Run::from_call(cx) {
        Ok(run) => run.stop(StopReason::Ended(ending), Some(CallSite::from_call(cx))),
        Err(error) => error,
    }
}

/// Runs another program within this run, with other variables and the same state, limits and deadline.
/// Returns the value of its last expression, or the result of `native`.
pub fn include(
    cx: &NativeCallContext,
    program: &Arc<Program>,
    native: Option<&NativeEntry>,
    variables: Variables,
) -> Result<Dynamic, Box<EvalAltResult>> {
    let run = Run::from_call(cx)?;
    thread_context::with_program(program, variables, || start(cx.engine(), program, native))
        .unwrap_or_else(|| {
            Err(run.stop(
                StopReason::Limit(Limit::Depth),
                Some(CallSite::from_call(cx)),
            ))
        })
        .map_err(|error| {
            let role = format!("role {}", program.name());
            let file = program.entry().to_owned();
            EvalAltResult::ErrorInFunctionCall(role, file, error, cx.call_position()).into()
        })
}

/// Evaluates a snippet of the current program. It sees the values that [`set_variable`] has set.
pub fn evaluate(cx: &NativeCallContext, snippet: SnippetId) -> Result<Dynamic, Box<EvalAltResult>> {
    let program = thread_context::program().ok_or("a snippet needs a run")?;
    let compiled = program
        .snippets
        .get(snippet.0)
        .ok_or("the program has no such snippet")?;
    of_ast(cx.engine(), &compiled.ast).map_err(|error| {
        // The report of the error maps its position to the file by this label.
        let (name, label) = (compiled.name().to_owned(), compiled.label.clone());
        EvalAltResult::ErrorInFunctionCall(name, label, error, cx.call_position()).into()
    })
}

/// Sets or adds a variable of the current program. Included programs do not see it.
pub fn set_variable(name: &'static str, value: Dynamic) {
    thread_context::set_variable(name, value);
}

/// Sets or removes a key of a map that is a variable of the current program. Returns the former value.
pub fn put_variable(name: &str, key: &str, value: Option<Dynamic>) -> Option<Dynamic> {
    thread_context::put_variable(name, key, value)
}

/// Returns a variable of the current program.
pub fn variable(name: &str) -> Option<Dynamic> {
    thread_context::variable(name)
}

/// Fails if the run of this thread is cancelled, past its deadline, or exceeds its memory. A script cannot
/// catch the error. Succeeds on a thread without a run.
///
/// Native code that takes more than some milliseconds, or that allocates in a loop, calls this between
/// two steps of its work. Crates without a dependency on scripts call [`checkpoint::pass`] instead.
pub fn checkpoint() -> Result<(), Box<EvalAltResult>> {
    checkpoint::pass().map_err(|checkpoint::Interrupted| thread_context::stop_error())
}

/// Checks as [`checkpoint()`] does, but only once per some hundred calls, for inner loops.
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
            // An `exit` within a closure that a native function called.
            EvalAltResult::Exit(value, _) => Ok(value.clone()),
            _ => Err(error),
        })
}
