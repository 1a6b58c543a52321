//! The functions that search with regular expressions, in the syntax of Go and with the costs of the real
//! server. Those of kube-cel have the syntax of the `regex` crate and no limit.
//!
//! <https://kubernetes.io/docs/reference/using-api/cel/#kubernetes-regex-library>

use std::sync::Arc;

use kube_cel::cel::extractors::{Arguments, This};
use kube_cel::cel::{Context, ExecutionError, Value};
use regex::Regex;

use super::budget;
use crate::crd::pattern::Pattern;

type Text = Arc<String>;

/// Registers the functions.
pub(super) fn register(mut context: Context<'static>) -> Context<'static> {
    context.add_function("matches", matches);
    context.add_function("find", find);
    context.add_function("findAll", find_all);
    context
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the interpreter passes arguments by value"
)]
fn matches(This(text): This<Text>, pattern: Text) -> Result<bool, ExecutionError> {
    search("matches", &text, &pattern).map(|regex| regex.is_match(&text))
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the interpreter passes arguments by value"
)]
fn find(This(text): This<Text>, pattern: Text) -> Result<Value, ExecutionError> {
    let regex = search("find", &text, &pattern)?;
    let found = regex.find(&text).map_or("", |it| it.as_str());
    Ok(string(found))
}

fn find_all(
    This(text): This<Text>,
    Arguments(arguments): Arguments,
) -> Result<Value, ExecutionError> {
    let (pattern, limit) = match arguments.as_slice() {
        [Value::String(pattern)] => (pattern, None),
        // A negative limit is none.
        [Value::String(pattern), Value::Int(limit)] => (pattern, usize::try_from(*limit).ok()),
        _ => return Err(ExecutionError::NoSuchOverload),
    };
    let regex = search("findAll", &text, pattern)?;
    let found = regex.find_iter(&text).take(limit.unwrap_or(usize::MAX));
    let found = found.map(|it| string(it.as_str())).collect();
    Ok(Value::List(Arc::new(found)))
}

fn string(text: &str) -> Value {
    Value::String(Arc::new(text.to_owned()))
}

/// Charges a search, and returns the compiled pattern.
fn search(name: &str, text: &str, pattern: &str) -> Result<Arc<Regex>, ExecutionError> {
    let characters = |text: &str| u64::try_from(text.chars().count()).unwrap_or(u64::MAX);
    let cost_of_text = characters(text).saturating_add(1).div_ceil(10);
    let cost_of_pattern = characters(pattern).div_ceil(4);
    budget::charge(cost_of_text.saturating_mul(cost_of_pattern))?;
    let failed = |why: String| ExecutionError::function_error(name, why);
    let parsed = Pattern::parse(pattern).map_err(|why| match name {
        "matches" => failed(why),
        _ => failed(format!("Illegal regex: {why}")),
    })?;
    parsed.search(text).map_err(failed)
}
