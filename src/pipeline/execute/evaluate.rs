//! Values with slots → values.

use std::convert::Infallible;
use std::sync::Arc;

use rhai::{Array, Dynamic, EvalAltResult, Identifier, Map, NativeCallContext};

use crate::host::{Answer, VARIABLES, invalid, path};
use crate::pipeline::{Expression, Loop, Part, Query, SourceLocation, Test, Text, Tree, scope};
use crate::script::{self, value};

/// What a query may name at its beginning, beside [`VARIABLES`].
const NAMES: [&str; 4] = [scope::RESULTS, scope::ITEM, scope::RESULT, scope::ERROR];

/// The value of an expression.
pub(super) fn expression(cx: &NativeCallContext, expression: &Expression) -> Answer<Dynamic> {
    script::evaluate(cx, expression.fragment)
}

/// The value of a tree.
pub(super) fn tree(cx: &NativeCallContext, tree: &Tree) -> Answer<Dynamic> {
    Ok(match tree {
        Tree::Constant(constant) => value::to_dynamic(constant),
        Tree::Slot(slot) => expression(cx, slot)?.flatten(),
        Tree::Text(parts) => joined(cx, parts)?.into(),
        Tree::List(items) => {
            let items = items.iter().map(|item| self::tree(cx, item));
            items.collect::<Answer<Array>>()?.into()
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

/// Named values.
pub(super) fn named(cx: &NativeCallContext, entries: &[(Arc<str>, Tree)]) -> Answer<Map> {
    let entries = entries.iter();
    entries
        .map(|(key, entry)| Ok(((&**key).into(), tree(cx, entry)?)))
        .collect()
}

/// The value of a text.
pub(super) fn text(cx: &NativeCallContext, text: &Text) -> Answer<String> {
    match text {
        Text::Constant(constant) => Ok(constant.to_string()),
        Text::Parts(parts) => joined(cx, parts),
    }
}

fn joined(cx: &NativeCallContext, parts: &[Part]) -> Answer<String> {
    let mut text = String::new();
    for part in parts {
        match part {
            Part::Literal(literal) => text.push_str(literal),
            Part::Slot(slot) => {
                let value = expression(cx, slot)?;
                let shown = shown(&value).ok_or_else(|| wrong(cx, slot, no_text(&value)))?;
                text.push_str(&shown);
            }
        }
    }
    Ok(text)
}

/// A scalar as it stands in a text.
pub(super) fn shown(value: &Dynamic) -> Option<String> {
    if value.is_string() || value.is_char() || value.is_int() || value.is_bool() {
        return Some(value.to_string());
    }
    if value.is_float() {
        return value::to_value(value).ok().map(|number| number.to_string());
    }
    None
}

fn no_text(value: &Dynamic) -> String {
    let found = if value.is_unit() {
        "()"
    } else {
        value.type_name()
    };
    format!("expected a text, a number or a bool within the text, found {found}")
}

/// The error of an expression whose value is of no use, with its place.
fn wrong(cx: &NativeCallContext, at: &Expression, message: String) -> Box<EvalAltResult> {
    let name = format!("${{{}}}", at.text);
    let refuse = |_: &NativeCallContext<'_>| Err(invalid(message));
    match script::at::<Infallible>(cx, &name, place(&at.place), refuse) {
        Err(error) => error,
        Ok(never) => match never {},
    }
}

/// A place as [`script::at`] takes it.
pub(super) fn place(place: &SourceLocation) -> (&str, usize, usize) {
    (&place.file, place.line, place.column)
}

/// Returns whether a test holds.
pub(super) fn holds(cx: &NativeCallContext, test: &Test) -> Answer<bool> {
    match test {
        Test::Constant(constant) => Ok(*constant),
        Test::Query(query) => Ok(select(query)?.iter().any(is_something)),
        Test::Expression(test) => {
            let found = expression(cx, test)?.as_bool();
            found.map_err(|found| wrong(cx, test, format!("expected true or false, found {found}")))
        }
    }
}

/// A test in a sentence.
pub(super) fn described(test: &Test) -> String {
    match test {
        Test::Constant(constant) => format!("`{constant}`"),
        Test::Expression(test) => format!("`{}`", test.text),
        Test::Query(query) => format!("`{}`", query.text),
    }
}

/// Returns whether a query of an object itself selects something.
pub(super) fn holds_of(object: &Dynamic, query: &Query) -> Answer<bool> {
    let found = path::select(object, &query.text, usize::MAX)?;
    Ok(found.iter().any(is_something))
}

fn is_something(value: &Dynamic) -> bool {
    !value.is_unit() && value.as_bool() != Ok(false)
}

fn select(query: &Query) -> Answer<Array> {
    let Some((variable, rest)) = &query.variable else {
        let all = VARIABLES.iter().chain(&NAMES);
        let all = all.filter_map(|name| Some(((*name).into(), script::variable(name)?)));
        let all = Dynamic::from_map(all.collect());
        return path::select(&all, &query.text, usize::MAX);
    };
    let value = script::variable(variable).unwrap_or_default();
    path::select(&value, rest, usize::MAX)
}

/// What a step is repeated for.
pub(super) fn items(cx: &NativeCallContext, repeat: &Loop) -> Answer<Array> {
    match repeat {
        Loop::Items(items) => list(cx, tree(cx, items)?, None),
        Loop::Expression(items) => list(cx, expression(cx, items)?.flatten(), Some(items)),
        Loop::Query(query) => select(query),
    }
}

/// The items of a list, the entries of a map.
fn list(cx: &NativeCallContext, value: Dynamic, from: Option<&Expression>) -> Answer<Array> {
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
            Some(from) => wrong(cx, from, message),
            None => invalid(message),
        }
    })
}

fn entry((key, value): (Identifier, Dynamic)) -> Dynamic {
    let key = Dynamic::from(key.to_string());
    Dynamic::from_map(Map::from([("key".into(), key), ("value".into(), value)]))
}
