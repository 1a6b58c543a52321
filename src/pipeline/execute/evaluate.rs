//! Evaluates expressions, values with slots, tests and loops.

use std::convert::Infallible;
use std::sync::Arc;

use rhai::{Array, Dynamic, EvalAltResult, Identifier, Map, NativeCallContext};

use crate::host::{HostResult, VARIABLES, invalid, path};
use crate::pipeline::scope;
use crate::pipeline::step::{Loop, Step};
use crate::pipeline::tree::{
    Expression, Query, SourceLocation, Test, TextPart, TextTemplate, Tree,
};
use crate::script::{self, value};

/// The variables that a query can begin with, in addition to [`VARIABLES`].
const NAMES: [&str; 4] = [scope::RESULTS, scope::ITEM, scope::RESULT, scope::ERROR];

/// Runs a part of a step as a call at the location of the step.
pub(super) fn in_step<T>(
    cx: &NativeCallContext,
    step: &Step,
    body: impl FnOnce(&NativeCallContext) -> HostResult<T>,
) -> HostResult<T> {
    let name = format!("step {}", step.name);
    script::call_at(cx, &name, call_location(&step.location), body)
}

/// Evaluates an expression.
pub(super) fn expression(cx: &NativeCallContext, expression: &Expression) -> HostResult<Dynamic> {
    script::evaluate(cx, expression.snippet)
}

/// Evaluates a value with slots.
pub(super) fn tree(cx: &NativeCallContext, tree: &Tree) -> HostResult<Dynamic> {
    Ok(match tree {
        Tree::Constant(constant) => value::to_dynamic(constant),
        Tree::Slot(slot) => expression(cx, slot)?.flatten(),
        Tree::Text(parts) => joined(cx, parts)?.into(),
        Tree::List(items) => {
            let items = items.iter().map(|item| self::tree(cx, item));
            items.collect::<HostResult<Array>>()?.into()
        }
        Tree::Map(entries) => {
            let mut map = Map::new();
            for (key, entry) in entries {
                map.insert(text(cx, key)?.into(), self::tree(cx, entry)?);
            }
            map.into()
        }
    })
}

/// Evaluates a map of variables.
pub(super) fn variables(cx: &NativeCallContext, entries: &[(Arc<str>, Tree)]) -> HostResult<Map> {
    let entries = entries.iter();
    entries
        .map(|(key, entry)| Ok(((&**key).into(), tree(cx, entry)?)))
        .collect()
}

/// Evaluates a text with slots.
pub(super) fn text(cx: &NativeCallContext, text: &TextTemplate) -> HostResult<String> {
    match text {
        TextTemplate::Constant(constant) => Ok(constant.to_string()),
        TextTemplate::Parts(parts) => joined(cx, parts),
    }
}

fn joined(cx: &NativeCallContext, parts: &[TextPart]) -> HostResult<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            TextPart::Literal(literal) => text.push_str(literal),
            TextPart::Slot(slot) => {
                let value = expression(cx, slot)?;
                let inserted =
                    scalar_text(&value).ok_or_else(|| error_at(cx, slot, not_a_text(&value)))?;
                text.push_str(&inserted);
            }
        }
    }
    Ok(text)
}

/// Returns a scalar as text.
pub(super) fn scalar_text(value: &Dynamic) -> Option<String> {
    if value.is_string() || value.is_char() || value.is_int() || value.is_bool() {
        return Some(value.to_string());
    }
    if value.is_float() {
        return value::to_value(value).ok().map(|number| number.to_string());
    }
    None
}

fn not_a_text(value: &Dynamic) -> String {
    let found = if value.is_unit() {
        "()"
    } else {
        value.type_name()
    };
    format!("expected a text, a number or a bool in the text, found {found}")
}

/// Returns an error about the value of an expression, at its location.
fn error_at(cx: &NativeCallContext, at: &Expression, message: String) -> Box<EvalAltResult> {
    let name = format!("${{{}}}", at.text);
    let refuse = |_: &NativeCallContext<'_>| Err(invalid(message));
    match script::call_at::<Infallible>(cx, &name, call_location(&at.location), refuse) {
        Err(error) => error,
        Ok(never) => match never {},
    }
}

/// Returns a location for [`script::call_at`].
pub(super) fn call_location(location: &SourceLocation) -> (&str, usize, usize) {
    (&location.file, location.line, location.column)
}

/// Returns whether a test is true.
pub(super) fn is_true(cx: &NativeCallContext, test: &Test) -> HostResult<bool> {
    match test {
        Test::Constant(constant) => Ok(*constant),
        Test::Query(query) => Ok(select(query)?.iter().any(is_match)),
        Test::Expression(test) => {
            let found = expression(cx, test)?.as_bool();
            found.map_err(|found| {
                error_at(cx, test, format!("expected true or false, found {found}"))
            })
        }
    }
}

/// Returns whether a query on an object selects something.
pub(super) fn is_true_of(object: &Dynamic, query: &Query) -> HostResult<bool> {
    let found = path::select(object, &query.text, usize::MAX)?;
    Ok(found.iter().any(is_match))
}

fn is_match(value: &Dynamic) -> bool {
    !value.is_unit() && value.as_bool() != Ok(false)
}

fn select(query: &Query) -> HostResult<Array> {
    let Some((variable, rest)) = &query.variable else {
        let all = VARIABLES.iter().chain(&NAMES);
        let all = all.filter_map(|name| Some(((*name).into(), script::variable(name)?)));
        let all = Dynamic::from_map(all.collect());
        return path::select(&all, &query.text, usize::MAX);
    };
    let value = script::variable(variable).unwrap_or_default();
    path::select(&value, rest, usize::MAX)
}

/// Evaluates the items that a step is repeated for.
pub(super) fn items(cx: &NativeCallContext, repeat: &Loop) -> HostResult<Array> {
    match repeat {
        Loop::Items(items) => list(cx, tree(cx, items)?, None),
        Loop::Expression(items) => list(cx, expression(cx, items)?.flatten(), Some(items)),
        Loop::Query(query) => select(query),
    }
}

/// Returns the items of a list, or the entries of a map.
fn list(cx: &NativeCallContext, value: Dynamic, from: Option<&Expression>) -> HostResult<Array> {
    if value.is_map() {
        return Ok(value.cast::<Map>().into_iter().map(entry).collect());
    }
    let found = if value.is_unit() {
        "()"
    } else {
        value.type_name()
    };
    value.into_array().map_err(|_| {
        let message = format!("loop: expected a list or a map, found {found}");
        match from {
            Some(from) => error_at(cx, from, message),
            None => invalid(message),
        }
    })
}

fn entry((key, value): (Identifier, Dynamic)) -> Dynamic {
    let key = Dynamic::from(key.to_string());
    Dynamic::from_map(Map::from([("key".into(), key), ("value".into(), value)]))
}
