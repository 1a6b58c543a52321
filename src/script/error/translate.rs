//! Converts errors of the engine to [`Error`].

use std::sync::Arc;

use rhai::{Dynamic, EvalAltResult};

use super::{Error, ErrorKind, Frame};
use crate::script::call_site::CallSite;
use crate::script::engine::Engine;
use crate::script::limits::{Limit, MAX_VARIABLES};
use crate::script::nesting::{self, MAX_NESTING};
use crate::script::program::Program;
use crate::script::run::{Run, StopReason, StopRecord};
use crate::script::snippet::numbers;
use crate::script::value;

/// The description of an error: its kind, the message, a hint.
type Description = (ErrorKind, String, Option<String>);

/// Returns the error of a run: the reason of its stop, or else the error of the script.
pub(in crate::script) fn report(
    run: &Run,
    programs: &[Arc<Program>],
    engine: &Engine,
    error: Option<&EvalAltResult>,
) -> Error {
    let mut trace = error
        .map(|error| trace(programs, error))
        .unwrap_or_default();
    let (kind, message, mut hint) = match (run.stopped(), error) {
        (Some(StopRecord { why, place }), _) => {
            // If the script caught the error that had the call chain, only the call site is known.
            let place = place.map(|place| frame(programs, None, &place));
            if let Some(place) = place.filter(|place| !arose_at(&trace, place)) {
                trace = vec![place];
            }
            stopped(run, why)
        }
        (None, Some(error)) => describe(run, engine, error.unwrap_inner()),
        (None, None) => (
            ErrorKind::Runtime,
            "the run ended for an unknown reason".to_owned(),
            None,
        ),
    };
    if let Some(EvalAltResult::ErrorRuntime(thrown, _)) = error.map(EvalAltResult::unwrap_inner)
        && let Some(place) = run.failure(thrown).and_then(|failure| failure.place)
        && let first = frame(programs, None, &place)
        && !arose_at(&trace, &first)
        && trace.first().is_some_and(|frame| is_throw(programs, frame))
    {
        let first = first.location();
        hint.get_or_insert_with(|| format!("thrown again; first thrown at {first}"));
    }
    finish(programs, kind, message, hint, trace)
}

/// Returns the error of a run that a panic ended.
pub(in crate::script) fn panicked(run: &Run, programs: &[Arc<Program>], panic: &str) -> Error {
    let trace = run
        .last_call()
        .map(|place| frame(programs, None, &place))
        .into_iter()
        .collect();
    let message = format!("a host function panicked: {panic}");
    let hint = "the position is that of the last call of a host function".to_owned();
    finish(programs, ErrorKind::Panic, message, Some(hint), trace)
}

fn finish(
    programs: &[Arc<Program>],
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    mut trace: Vec<Frame>,
) -> Error {
    for frame in &mut trace {
        frame.source = source_line(programs, frame).map(|line| line.trim_end().to_owned());
    }
    Error {
        kind,
        message,
        hint,
        trace,
    }
}

/// Returns the call chain of an error, innermost first.
fn trace(programs: &[Arc<Program>], error: &EvalAltResult) -> Vec<Frame> {
    let mut frames = Vec::new();
    let (mut error, mut function, mut file) = (error, None, None);
    loop {
        let position = error.position();
        frames.push(frame(
            programs,
            function.take(),
            &CallSite {
                file: file.clone(),
                position,
            },
        ));
        match error {
            EvalAltResult::ErrorInFunctionCall(name, source, inner, _) => {
                function = Some(function_name(name));
                if !source.is_empty() {
                    file = Some(source.clone());
                }
                error = inner;
            }
            EvalAltResult::ErrorInModule(path, inner, _) => {
                function = Some(format!("module {path}"));
                file = Some(path.clone());
                error = inner;
            }
            _ => break,
        }
    }
    frames.reverse();
    // A native function that calls a closure has the position of its own call.
    frames.dedup_by(|outer, inner| {
        let is_same = inner.location() == outer.location() && inner.function != outer.function;
        if is_same {
            inner.function = outer.function.take();
        }
        is_same
    });
    frames
}

fn function_name(name: &str) -> String {
    if name.starts_with("anon$") {
        "a closure".to_owned()
    } else {
        name.to_owned()
    }
}

fn frame(programs: &[Arc<Program>], function: Option<String>, place: &CallSite) -> Frame {
    let file = place.file.clone();
    let file = file.or_else(|| Some(programs.first()?.entry().to_owned()));
    let file = file.unwrap_or_default();
    let snippets = programs.iter().flat_map(|program| &program.snippets);
    let mut snippets = snippets.filter(|snippet| snippet.label == file);
    let (file, (line, column)) = match snippets.next() {
        Some(snippet) => (snippet.file.clone(), snippet.file_position(place.position)),
        None => (file, numbers(place.position)),
    };
    Frame {
        function,
        file,
        line,
        column,
        source: None,
    }
}

/// Returns the line of a frame in the text of its file.
fn source_line<'a>(programs: &'a [Arc<Program>], frame: &Frame) -> Option<&'a str> {
    let mut texts = programs
        .iter()
        .filter_map(|program| program.text(&frame.file));
    texts.next()?.lines().nth(frame.line.checked_sub(1)?)
}

/// Returns whether a frame is at a `throw` statement, and not at a call that failed.
fn is_throw(programs: &[Arc<Program>], frame: &Frame) -> bool {
    let statement = source_line(programs, frame).and_then(|line| {
        let (start, _) = line.char_indices().nth(frame.column.checked_sub(1)?)?;
        line.get(start..)
    });
    statement.is_some_and(|statement| statement.starts_with("throw"))
}

fn arose_at(trace: &[Frame], place: &Frame) -> bool {
    let first = trace.first();
    first.is_some_and(|frame| {
        (frame.line, frame.column, &frame.file) == (place.line, place.column, &place.file)
    })
}

fn stopped(run: &Run, why: StopReason) -> Description {
    match why {
        StopReason::Limit(limit) => {
            let limits = &run.limits;
            let (text, hint) = match limit {
                Limit::Operations => (
                    format!("stopped after {} operations", limits.operations),
                    Some("check for a loop that does not end"),
                ),
                Limit::Memory => (
                    format!(
                        "the run uses more than {} MiB of memory",
                        limits.memory >> 20
                    ),
                    Some("read fewer objects at a time, or raise --run-memory"),
                ),
                Limit::Nesting => (
                    format!("a value is nested more than {MAX_NESTING} levels deep"),
                    None,
                ),
                Limit::Depth => (
                    format!("calls are nested more than {} deep", limits.depth),
                    Some("check for a function that calls itself without end"),
                ),
                Limit::HostCalls => (
                    format!("more than {} calls of host functions", limits.host_calls),
                    None,
                ),
                Limit::Objects => (
                    format!("the run applies more than {} objects", limits.objects),
                    Some("apply fewer objects, or raise --run-objects"),
                ),
            };
            (ErrorKind::Limit(limit), text, hint.map(str::to_owned))
        }
        StopReason::Deadline => (
            ErrorKind::Deadline,
            "not done within its timeout".to_owned(),
            None,
        ),
        StopReason::Cancelled => (ErrorKind::Cancelled, "cancelled".to_owned(), None),
        StopReason::Ended(ending) => (
            ErrorKind::Ended(ending),
            "ended by the script".to_owned(),
            None,
        ),
    }
}

fn describe(run: &Run, engine: &Engine, error: &EvalAltResult) -> Description {
    use EvalAltResult as E;
    // The engine reports only the outermost call of these.
    let limit = |limit, message: String| {
        let hint = "it happened here or in a function that is called here".to_owned();
        (ErrorKind::Limit(limit), message, Some(hint))
    };
    match error {
        E::ErrorRuntime(thrown, _) => thrown_value(run, thrown),
        E::ErrorStackOverflow(_) => limit(Limit::Depth, "calls are nested too deeply".to_owned()),
        E::ErrorTooManyOperations(_) => limit(
            Limit::Operations,
            "stopped after too many operations".to_owned(),
        ),
        E::ErrorTooManyVariables(_) => limit(
            Limit::Memory,
            format!("more than {MAX_VARIABLES} variables in one function"),
        ),
        E::ErrorDataTooLarge(what, _) => limit(Limit::Memory, too_large(engine, what)),
        E::ErrorTerminated(..) => (ErrorKind::Cancelled, "stopped".to_owned(), None),
        other => {
            let (message, hint) = super::wording::runtime(engine.names(), other);
            (ErrorKind::Runtime, message, hint)
        }
    }
}

fn too_large(engine: &Engine, what: &str) -> String {
    let values = engine.values();
    if what.contains("string") {
        format!("a value with more than {} MiB of text", values.text >> 20)
    } else if what.contains("map") {
        format!("a value with more than {} entries of maps", values.entries)
    } else {
        format!(
            "a value with more than {} elements of arrays",
            values.elements
        )
    }
}

/// Describes a value that a script threw, or the error of a host function that it did not catch.
fn thrown_value(run: &Run, thrown: &Dynamic) -> Description {
    // Only the thread of the run has a stack that is large enough to drop a value of any depth.
    if nesting::is_too_deep(thrown) {
        return stopped(run, StopReason::Limit(Limit::Nesting));
    }
    let own_message = thrown.as_map_ref().ok().and_then(|map| {
        let message = map.get("message")?;
        Some(message.as_immutable_string_ref().ok()?.to_string())
    });
    if let Some(failure) = run.failure(thrown) {
        let message = own_message.unwrap_or_else(|| failure.error.message.clone());
        return (ErrorKind::Host(Box::new(failure.error)), message, None);
    }
    let message = own_message.unwrap_or_else(|| match thrown.as_immutable_string_ref() {
        Ok(text) => text.to_string(),
        Err(_) => value::to_value(thrown).map_or_else(|_| thrown.to_string(), |v| v.to_string()),
    });
    (ErrorKind::Thrown(thrown.clone()), message, None)
}
