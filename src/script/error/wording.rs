//! Rewrites the engine's messages: lower case, without a period, with the type names of scripts and a hint.

use rhai::{EvalAltResult, Position};

use crate::script::names::FunctionNames;

type MessageAndHint = (String, Option<String>);

/// Rewrites the message of a run-time error.
pub(super) fn runtime(names: &FunctionNames, error: &EvalAltResult) -> MessageAndHint {
    use EvalAltResult as E;
    match error {
        E::ErrorFunctionNotFound(signature, _) => unknown_function(names, signature),
        E::ErrorDotExpr(text, _) => property(text),
        E::ErrorIndexingType(types, _) => (format!("cannot index {}", kinds(types)), None),
        E::ErrorMismatchDataType(wanted, found, _)
        | E::ErrorMismatchOutputType(wanted, found, _) => (
            format!("expected {}, found {}", kinds(wanted), kinds(found)),
            None,
        ),
        E::ErrorDataRace(..) => (
            "cannot use a variable in a closure that a method of the same variable calls"
                .to_owned(),
            Some("copy the value to another variable before the call".to_owned()),
        ),
        E::ErrorVariableNotFound(name, _) => (format!("unknown variable `{name}`"), None),
        E::ErrorFor(_) => (
            "`for` requires an array, a range, a map's keys() or a string".to_owned(),
            None,
        ),
        other => (plain(other), None),
    }
}

/// Returns the engine's message without its position.
fn plain(error: &EvalAltResult) -> String {
    let text = error.to_string();
    let position = error.position();
    let text = match position {
        Position::NONE => text.as_str(),
        _ => text
            .strip_suffix(&format!(" ({position})"))
            .unwrap_or(&text),
    };
    lower_first(text)
}

/// Converts the first letter to lower case.
pub(in crate::script) fn lower_first(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_lowercase().chain(letters).collect()
    })
}

/// Describes an unknown function by its signature, e.g. `name (i64, map)`. Operators are functions too.
fn unknown_function(names: &FunctionNames, signature: &str) -> MessageAndHint {
    let (name, types) = signature.split_once(" (").unwrap_or((signature, ")"));
    let types = kinds(types.trim_end_matches(')'));
    if !name.starts_with(|c: char| c.is_alphabetic() || c == '_') {
        return match types.split_once(", ") {
            Some((left, right)) => (format!("cannot compute {left} {name} {right}"), None),
            None => (format!("cannot compute {name} {types}"), None),
        };
    }
    let local = name.rsplit("::").next().unwrap_or(name);
    match names.arities(local) {
        Some(_) => (format!("`{name}` does not take ({types})"), None),
        None => (format!("unknown function `{name}`"), names.suggest(local)),
    }
}

/// Rewrites `Unknown property 'a' - a getter is not registered for type 'b'`.
fn property(text: &str) -> MessageAndHint {
    let quoted: Vec<_> = text.split('\'').skip(1).step_by(2).collect();
    let [property, kind, ..] = quoted[..] else {
        return (lower_first(text), None);
    };
    let act = if text.contains("writable") {
        "set"
    } else {
        "read"
    };
    let hint = (kind == "()").then(|| {
        format!(
            "an absent field is (): check it, or write `?.{property}` or get(map, path, default)"
        )
    });
    (
        format!("cannot {act} property `{property}` of {}", kinds(kind)),
        hint,
    )
}

/// Replaces the engine's names of types with those of scripts.
fn kinds(text: &str) -> String {
    text.replace("&str | ImmutableString | String", "string")
        .replace("alloc::string::String", "string")
        .replace("rhai::ImmutableString", "string")
        .replace("i64", "int")
        .replace("f64", "float")
}
