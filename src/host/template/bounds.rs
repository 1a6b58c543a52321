//! What one rendering may make of its values: no value without bound, and not without bound many.
//!
//! Counted is what is copied: texts that operators and filters put together. What they are to make is
//! reckoned before it is made. That is no exact account of memory; it stops what grows without end.

use std::cell::Cell;
use std::sync::LazyLock;

use minijinja::value::{Rest, ValueKind, ValueOrKwargs};
use minijinja::{Environment, Error, ErrorKind, Value, context};

use super::{placeholders, reads};
use crate::role::template_operators::{ADD, CONCAT, MULTIPLY};

/// One value, in bytes; what one rendering may write, too: ten times the largest set of objects that we
/// know of.
pub(super) const MAX_VALUE: usize = 16 << 20;
/// All that one rendering makes: a text that grows line by line to 400 KiB is made five thousand times.
const MAX_MADE: usize = 1 << 30;
/// Deeper than any object of Kubernetes.
pub(super) const MAX_DEPTH: usize = 100;
/// Of an item of a list or map, beside what is in it.
pub(super) const ITEM: usize = 24;

thread_local! {
    /// Bytes that the rendering on this thread has made.
    static MADE: Cell<usize> = const { Cell::new(0) };
    /// Bytes of values that it has written, to wherever.
    static WRITTEN: Cell<usize> = const { Cell::new(0) };
}

/// Begins a rendering on this thread that may read so many values.
pub(super) fn begin(most: u64) {
    MADE.set(0);
    WRITTEN.set(0);
    reads::begin(most);
}

/// Counts a value that is about to be written. The bound on a rendering's output does not see what goes
/// to a variable first (`{% set x %}…{% endset %}`, a macro).
pub(super) fn write(value: &Value) -> Result<(), Error> {
    let written = WRITTEN.get().saturating_add(weight(value));
    if written > MAX_VALUE {
        return Err(Error::from(ErrorKind::WriteFailure));
    }
    WRITTEN.set(written);
    Ok(())
}

/// Counts a value that is about to be made, of so many bytes.
pub(super) fn make(bytes: usize) -> Result<(), Error> {
    if bytes > MAX_VALUE {
        return Err(too_much("a value", MAX_VALUE));
    }
    let made = MADE.get().saturating_add(bytes);
    if made > MAX_MADE {
        return Err(too_much("values", MAX_MADE));
    }
    MADE.set(made);
    Ok(())
}

fn too_much(what: &str, bound: usize) -> Error {
    let message = format!("{what} of more than {} MiB", bound >> 20);
    Error::new(ErrorKind::InvalidOperation, message)
}

/// About how long a value is as a text; not beyond the bound of a value.
pub(super) fn weight(value: &Value) -> usize {
    let mut weight = 0;
    add_weight(value, 0, &mut weight);
    weight
}

fn add_weight(value: &Value, depth: usize, weight: &mut usize) {
    if let Some(text) = value.as_str() {
        *weight = weight.saturating_add(text.len());
        return;
    }
    let items = || value.try_iter().into_iter().flatten();
    *weight += ITEM;
    match value.kind() {
        _ if depth > MAX_DEPTH => *weight = usize::MAX / 2,
        ValueKind::Bytes => *weight += value.len().unwrap_or_default(),
        ValueKind::Seq | ValueKind::Iterable => {
            for item in items() {
                add_weight(&item, depth + 1, weight);
                if *weight > MAX_VALUE {
                    return;
                }
            }
        }
        ValueKind::Map => {
            for key in items() {
                add_weight(&key, depth + 1, weight);
                if let Ok(item) = value.get_item(&key) {
                    add_weight(&item, depth + 1, weight);
                }
                if *weight > MAX_VALUE {
                    return;
                }
            }
        }
        _ => {}
    }
}

/// Sets the operators and filters of an environment up.
pub(super) fn add(environment: &mut Environment<'_>) {
    environment.add_function(CONCAT, |left: Value, right: Value| {
        defined(&left, &right)?;
        make(weight(&left).saturating_add(weight(&right)))?;
        reads::read(reads::whole(&left).saturating_add(reads::whole(&right)))?;
        placeholders::concatenate(&left, &right)
    });
    environment.add_function(ADD, |left: Value, right: Value| {
        defined(&left, &right)?;
        let count = |value: &Value| match (value.as_str(), value.kind()) {
            (Some(text), _) => text.len(),
            (_, ValueKind::Seq | ValueKind::Iterable) => {
                // Its items are shared.
                value.len().unwrap_or_default().saturating_mul(ITEM)
            }
            _ => 0,
        };
        make(count(&left).saturating_add(count(&right)))?;
        reads::settled(operate("left + right", &left, &right)?)
    });
    environment.add_function(MULTIPLY, |left: Value, right: Value| {
        defined(&left, &right)?;
        let times = |value: &Value, times: &Value| {
            let times = usize::try_from(times.clone()).unwrap_or_default();
            match (value.as_str(), value.kind()) {
                (Some(text), _) => text.len().saturating_mul(times),
                (_, ValueKind::Seq | ValueKind::Iterable) => {
                    let count = value.len().unwrap_or_default();
                    count.saturating_mul(times).saturating_mul(ITEM)
                }
                _ => 0,
            }
        };
        make(times(&left, &right).max(times(&right, &left)))?;
        reads::settled(operate("left * right", &left, &right)?)
    });
    for name in COPYING {
        bound(environment, name, |_| 0);
    }
    bound(environment, "join", joined);
    bound(environment, "replace", replaced);
    bound(environment, "format", formatted);
    bound(environment, "indent", |arguments| indented(arguments, 4));
    bound(environment, "nindent", |arguments| indented(arguments, 0));
    for name in ["batch", "slice"] {
        bound(environment, name, |arguments| {
            number(arguments.get(1)).saturating_mul(ITEM)
        });
    }
    for name in reads::READING {
        environment.add_filter(name, move |arguments: Rest<ValueOrKwargs>| {
            filter(name, &arguments.into_values())
        });
    }
    reads::add_to(environment);
}

/// Filters whose results are about as large as what they are given.
pub(super) const COPYING: [&str; 37] = [
    "b64decode",
    "b64encode",
    "bool",
    "combine",
    "dict2items",
    "dictsort",
    "e",
    "escape",
    "from_json",
    "from_yaml",
    "from_yaml_all",
    "groupby",
    "hash",
    "items",
    "items2dict",
    "lines",
    "list",
    "lower",
    "pprint",
    "quote",
    "regex_search",
    "reverse",
    "sort",
    "split",
    "string",
    "title",
    "toYaml",
    "to_json",
    "to_nice_json",
    "to_nice_yaml",
    "to_yaml",
    "toJson",
    "tojson",
    "toyaml",
    "trim",
    "unique",
    "upper",
];

/// Operators and filters as they are without bounds.
pub(super) static PLAIN: LazyLock<Environment<'static>> = LazyLock::new(|| {
    let mut environment = Environment::new();
    super::configure_plainly(&mut environment);
    environment
});

fn operate(operation: &str, left: &Value, right: &Value) -> Result<Value, Error> {
    let operation = PLAIN.compile_expression(operation)?;
    operation.eval(context!(left, right)).map_err(|error| {
        let words = error.detail().unwrap_or_default().to_owned();
        Error::new(error.kind(), words)
    })
}

/// An undefined operand is the error that names it.
fn defined(left: &Value, right: &Value) -> Result<(), Error> {
    for value in [left, right] {
        if value.is_undefined() {
            value.get_attr("")?;
        }
    }
    Ok(())
}

/// Reckons with what a filter is given, and with `more`, before it is called.
fn bound(environment: &mut Environment<'_>, name: &'static str, more: fn(&[Value]) -> usize) {
    environment.add_filter(name, move |arguments: Rest<ValueOrKwargs>| {
        let arguments = arguments.into_values();
        let given = arguments.iter().map(weight).fold(0, usize::saturating_add);
        make(given.saturating_add(more(&arguments)))?;
        filter(name, &arguments)
    });
}

/// Calls a filter after what it reads is counted.
fn filter(name: &str, arguments: &[Value]) -> Result<Value, Error> {
    reads::filter(name, arguments)?;
    let made = PLAIN.empty_state().apply_filter(name, arguments)?;
    let made = match made.as_str() {
        // Jinja's own mark of what needs no escape, as `escape` sets it.
        Some(text) if made.is_safe() => text.into(),
        _ => made,
    };
    reads::settled_by(name, made)
}

fn length(value: Option<&Value>) -> usize {
    value.and_then(Value::as_str).map_or(0, str::len)
}

/// A positional number, or 0.
fn number(value: Option<&Value>) -> usize {
    value
        .and_then(|value| usize::try_from(value.clone()).ok())
        .unwrap_or_default()
}

fn joined(arguments: &[Value]) -> usize {
    let items = arguments.first().and_then(Value::len).unwrap_or_default();
    items.saturating_mul(length(arguments.get(1)))
}

fn replaced(arguments: &[Value]) -> usize {
    let [from, to] = [1, 2].map(|at| length(arguments.get(at)));
    // Nothing is found between all characters.
    let most = length(arguments.first()) / from.max(1) + 1;
    most.saturating_mul(to)
}

/// Widths and precisions, as they stand in a format or are given for a `*`.
fn formatted(arguments: &[Value]) -> usize {
    let format = arguments
        .first()
        .and_then(Value::as_str)
        .unwrap_or_default();
    let typed = format
        .split(|c: char| !c.is_ascii_digit())
        .filter(|digits| !digits.is_empty())
        .map(|digits| digits.parse().unwrap_or(usize::MAX));
    let given = if format.contains('*') { arguments } else { &[] };
    let given = given.iter().skip(1).map(|value| number(Some(value)));
    typed.chain(given).fold(0, usize::saturating_add)
}

fn indented(arguments: &[Value], usual: usize) -> usize {
    let text = arguments
        .first()
        .and_then(Value::as_str)
        .unwrap_or_default();
    let named = arguments
        .last()
        .and_then(|last| last.get_attr("width").ok());
    let width = number(arguments.get(1))
        .max(number(named.as_ref()))
        .max(usual);
    (text.lines().count() + 1).saturating_mul(width)
}
