//! Bounds on the values of a rendering, on its output, and on the time between two checkpoints.
//!
//! Each value that a template combines (with an operator, a filter, a call or a literal) has at most
//! 16 MiB. A step therefore takes bounded time, and its result is a small multiple of its
//! input. The few filters with larger results are refused before they run. Between two steps, the checkpoint
//! of the run checks its deadline and its memory. The template engine limits the number of steps.

use minijinja::functions::Function;
use minijinja::value::{FunctionArgs, FunctionResult, Kwargs, Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, State, Value, context, filters, functions, tests};

use super::limits::{ITEM, checkpoint, fits, is_namespace, parts, refuse, replaced, text, weigh};
use super::placeholders;
use crate::role::template_rewrite::{ADD, CHECKPOINT, CONCAT, MULTIPLY, STORED, VALUE};

/// The maximum size of a list that is sorted or grouped. A sort cannot be interrupted.
const MAX_SORTED: usize = 4 << 20;

/// Returns a value if it is small enough. Converts a lazy value to a list, and text that the template
/// rendered to markup.
fn bounded(value: Value) -> Result<Value, Error> {
    checkpoint()?;
    let value = match value.kind() {
        ValueKind::Iterable => listed(&value)?,
        _ => value,
    };
    weigh(&value)?;
    placeholders::captured(value)
}

/// Collects the items of a lazy value. Lazy values of lazy values would recurse when they are read.
fn listed(value: &Value) -> Result<Value, Error> {
    let mut items = Vec::new();
    for item in value.try_iter()? {
        fits(items.len() * ITEM)?;
        items.push(item);
    }
    Ok(items.into())
}

/// Adds the functions of rewritten templates, and bounds the filters, tests and functions of the engine.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_function(CONCAT, |left: Value, right: Value| {
        defined(&left, &right)?;
        bounded(placeholders::concatenate(&left, &right)?)
    });
    environment.add_function(ADD, |left: Value, right: Value| added(&left, &right));
    environment.add_function(MULTIPLY, |left: Value, right: Value| {
        defined(&left, &right)?;
        let product = |value: &Value, times: &Value| {
            let unit = if value.as_str().is_some() { 1 } else { ITEM };
            let length = value.as_str().map(str::len).or_else(|| value.len());
            length.map_or(0, |length| number(times).saturating_mul(length * unit))
        };
        fits(product(&left, &right).max(product(&right, &left)))?;
        bounded(operate("left * right", &left, &right)?)
    });
    environment.add_function(VALUE, bounded);
    environment.add_filter(VALUE, bounded);
    environment.add_function(STORED, |value: Value| {
        if is_namespace(&value) {
            return Err(refuse("a namespace cannot be part of another value"));
        }
        bounded(value)
    });
    environment.add_function(CHECKPOINT, checkpoint);
    // It would show everything in scope.
    environment.remove_global("debug");
    environment.add_function("dict", |map: Option<Value>, more: Kwargs| {
        bounded(functions::dict(map, more)?)
    });
    environment.add_function("namespace", |given: Option<ValueOrKwargs>| {
        bounded(functions::namespace(given)?)
    });
    environment.add_test("in", |state: &State, value: Value, list: Value| {
        checkpoint()?;
        tests::is_in(state, &value, &list)
    });
    for (name, filter) in builtin_filters() {
        add_filter_value(environment, name, filter);
    }
    add_filter(environment, "string", |value: Value| match value.as_str() {
        Some(_) => Ok(value),
        None => text(format_args!("{value}")).map(Value::from),
    });
    add_filter(environment, "pprint", |value: Value| {
        text(format_args!("{value:#?}"))
    });
    add_filter(environment, "sum", sum);
}

/// Filters of the engine that make values. Not here are those that return a part of their input, or a number.
fn builtin_filters() -> [(&'static str, Value); 27] {
    [
        ("batch", Value::from_function(filters::batch)),
        ("capitalize", Value::from_function(filters::capitalize)),
        ("chain", Value::from_function(filters::chain)),
        ("dictsort", Value::from_function(filters::dictsort)),
        ("e", Value::from_function(filters::escape)),
        ("escape", Value::from_function(filters::escape)),
        ("format", Value::from_function(filters::format)),
        ("groupby", Value::from_function(filters::groupby)),
        ("items", Value::from_function(filters::items)),
        ("join", Value::from_function(filters::join)),
        ("lines", Value::from_function(filters::lines)),
        ("list", Value::from_function(filters::list)),
        ("lower", Value::from_function(filters::lower)),
        ("map", Value::from_function(filters::map)),
        ("reject", Value::from_function(filters::reject)),
        ("rejectattr", Value::from_function(filters::rejectattr)),
        ("replace", Value::from_function(filters::replace)),
        ("reverse", Value::from_function(filters::reverse)),
        ("select", Value::from_function(filters::select)),
        ("selectattr", Value::from_function(filters::selectattr)),
        ("slice", Value::from_function(filters::slice)),
        ("sort", Value::from_function(filters::sort)),
        ("split", Value::from_function(filters::split)),
        ("title", Value::from_function(filters::title)),
        ("unique", Value::from_function(filters::unique)),
        ("upper", Value::from_function(filters::upper)),
        ("zip", Value::from_function(filters::zip)),
    ]
}

/// Adds a filter with a bounded result.
pub(super) fn add_filter<F, Rv, Args>(
    environment: &mut Environment<'_>,
    name: &'static str,
    filter: F,
) where
    F: Function<Rv, Args>,
    Rv: FunctionResult,
    Args: for<'a> FunctionArgs<'a>,
{
    add_filter_value(environment, name, Value::from_function(filter));
}

fn add_filter_value(environment: &mut Environment<'_>, name: &'static str, filter: Value) {
    let call = move |state: &mut State, arguments: Rest<ValueOrKwargs>| {
        let arguments = arguments.into_values();
        checkpoint()?;
        refuse_multiplied(name, &arguments)?;
        let made = filter.call(state, &arguments)?;
        bounded(match made.as_str() {
            // The engine marks text that needs no escape as it marks text that the template rendered.
            Some(text) if made.is_safe() => text.into(),
            // Maps over maps over maps would recurse when they are read.
            _ if name == "chain" && made.kind() == ValueKind::Map => {
                functions::dict(Some(made), no_names())?
            }
            _ => made,
        })
    };
    environment.add_filter(name, call);
}

/// Refuses arguments of a filter whose result would be much larger than the arguments, or would take much
/// longer to compute than reading them.
fn refuse_multiplied(name: &str, arguments: &[Value]) -> Result<(), Error> {
    let first = arguments.first().and_then(Value::as_str);
    let text = first.unwrap_or_default();
    let argument = |at: usize| arguments.get(at).and_then(Value::as_str);
    let length = |at: usize| argument(at).map_or(0, str::len);
    let parts = |separator: Option<&str>| parts(text, separator).saturating_mul(ITEM);
    fits(match name {
        "batch" | "slice" => text
            .len()
            .saturating_add(number_at(arguments, 1))
            .saturating_mul(ITEM),
        "chain" | "groupby" | "list" | "map" | "reject" | "reverse" | "select" | "sort"
        | "unique" | "zip" => text.len().saturating_mul(ITEM),
        "format" => widths(text, arguments),
        "indent" | "nindent" => {
            (text.lines().count() + 1).saturating_mul(largest_number(arguments))
        }
        "join" => {
            let items = arguments.first().and_then(Value::len).unwrap_or_default();
            items.saturating_mul(length(1))
        }
        "lines" => parts(Some("\n")),
        "replace" => replaced(text, length(1), length(2)),
        "split" => parts(argument(1)),
        "tojson" if arguments.len() > 1 => {
            weigh(&arguments[0])?.saturating_mul(largest_number(arguments))
        }
        _ => 0,
    })?;
    match (name, arguments.first()) {
        ("dictsort" | "groupby" | "sort" | "unique", Some(list)) if weigh(list)? > MAX_SORTED => {
            let most = MAX_SORTED >> 20;
            Err(refuse(format!("`{name}` of more than {most} MiB")))
        }
        _ => Ok(()),
    }
}

fn number(value: &Value) -> usize {
    usize::try_from(value.clone()).unwrap_or_default()
}

fn number_at(arguments: &[Value], at: usize) -> usize {
    arguments.get(at).map_or(0, number)
}

/// Returns the largest number among the arguments after the first, by position or by name.
fn largest_number(arguments: &[Value]) -> usize {
    let others = arguments.iter().skip(1);
    let numbers = others.map(|argument| {
        let names = argument.is_kwargs().then(|| argument.try_iter().ok());
        let named = names.flatten().into_iter().flatten();
        let named = named.filter_map(|name| Some(number(&argument.get_item(&name).ok()?)));
        named.max().unwrap_or_else(|| number(argument))
    });
    numbers.max().unwrap_or_default()
}

/// Returns the sum of the widths and precisions of a format, also of those that are arguments.
fn widths(format: &str, arguments: &[Value]) -> usize {
    let typed = format
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().unwrap_or(usize::MAX));
    let given = if format.contains('*') { arguments } else { &[] };
    let given = given.iter().skip(1).map(number);
    typed.chain(given).fold(0, usize::saturating_add)
}

/// Fails for an undefined operand with the error that names it.
fn defined(left: &Value, right: &Value) -> Result<(), Error> {
    for value in [left, right] {
        if value.is_undefined() {
            value.get_attr("")?;
        }
    }
    Ok(())
}

fn added(left: &Value, right: &Value) -> Result<Value, Error> {
    defined(left, right)?;
    bounded(operate("left + right", left, right)?)
}

/// Applies an operator of the engine.
fn operate(operation: &str, left: &Value, right: &Value) -> Result<Value, Error> {
    thread_local! {
        static PLAIN: Environment<'static> = Environment::new();
    }
    PLAIN.with(|environment| {
        let operation = environment.compile_expression(operation)?;
        operation.eval(context!(left, right)).map_err(|error| {
            let message = error.detail().unwrap_or_default().to_owned();
            Error::new(error.kind(), message)
        })
    })
}

/// Adds up a list as the engine does, with a checkpoint for each item: each makes a longer text.
#[expect(
    clippy::needless_pass_by_value,
    reason = "minijinja converts arguments to owned values"
)]
fn sum(
    state: &State,
    list: Value,
    attribute: Option<&str>,
    start: Option<Value>,
    named: Kwargs,
) -> Result<Value, Error> {
    defined(&list, &list)?;
    let named_attribute = named.get::<Option<&str>>("attribute")?;
    let named_start = named.get::<Option<Value>>("start")?;
    named.assert_all_used()?;
    let attribute = attribute.or(named_attribute);
    let mut sum = start.or(named_start).unwrap_or_else(|| Value::from(0));
    for item in list.try_iter()? {
        checkpoint()?;
        sum = filters::sum(state, vec![item].into(), attribute, Some(sum), no_names())?;
    }
    Ok(sum)
}

fn no_names() -> Kwargs {
    Kwargs::from_iter(Vec::<(String, Value)>::new())
}
