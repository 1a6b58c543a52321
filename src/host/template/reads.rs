//! What one rendering may read: the steps of a template are counted, but one step reads a whole list or
//! text, and nothing interrupts it.
//!
//! It is counted before it is read, in values. That is no exact account of time; it stops what does not end.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;

use minijinja::value::{Kwargs, Rest, ValueKind, ValueOrKwargs, from_args};
use minijinja::{Environment, Error, ErrorKind, State, Value, filters};

use super::bounds::{self, ITEM, MAX_DEPTH, PLAIN};
use crate::role::template_operators::{ITERATED, LIST, NAMED, READ, SEARCHED, SLICED};
use crate::script;

/// About a second: ten thousand lists of a hundred items may be sorted twice.
pub(super) const MAX_READ: u64 = 20_000_000;
/// Bytes of text that are read as fast as a value.
const TEXT: usize = 64;
/// What it costs to make what is read, and to write or parse it, in reads.
pub(super) const MAKING: u64 = 4;
const PARSING: u64 = 16;
/// Of a pattern that is compiled.
const PATTERN: u64 = 10_000;
/// Patterns that surely stay compiled.
const PATTERNS: usize = 32;

thread_local! {
    /// Values that the rendering on this thread may still read.
    static LEFT: Cell<u64> = const { Cell::new(MAX_READ) };
    /// Patterns that it has used lately.
    static USED: RefCell<BTreeSet<String>> = const { RefCell::new(BTreeSet::new()) };
}

/// Begins a rendering on this thread that may read so many values.
pub(super) fn begin(most: u64) {
    LEFT.set(most);
    USED.take();
}

/// Counts values that are about to be read; an error too where the run of this thread has to end: it is
/// past its deadline, or holds too much memory.
pub(super) fn read(values: u64) -> Result<(), Error> {
    if script::checkpoint().is_err() {
        let message = "the run has to end";
        return Err(Error::new(ErrorKind::InvalidOperation, message));
    }
    match LEFT.get().checked_sub(values) {
        Some(left) => {
            LEFT.set(left);
            Ok(())
        }
        None => Err(Error::new(
            ErrorKind::InvalidOperation,
            format!("more than {MAX_READ} values read"),
        )),
    }
}

/// Counts the pattern of a regular expression.
pub(super) fn read_pattern(pattern: &str) -> Result<(), Error> {
    USED.with_borrow_mut(|used| {
        if used.contains(pattern) {
            return Ok(());
        }
        if used.len() == PATTERNS {
            used.clear();
        }
        used.insert(pattern.to_owned());
        read(PATTERN)
    })
}

fn text(value: &Value) -> u64 {
    let bytes = value.as_str().map_or(0, str::len);
    (bytes / TEXT) as u64
}

/// Values of a list or map, not what is in them; a text as one reads it.
pub(super) fn flat(value: &Value) -> u64 {
    let items = match value.kind() {
        ValueKind::Seq | ValueKind::Iterable | ValueKind::Map => value.len().unwrap_or_default(),
        ValueKind::Bytes => value.len().unwrap_or_default() / TEXT,
        _ => return text(value),
    };
    items as u64
}

/// The same of what is gone through: of a text each character.
fn items(value: &Value) -> u64 {
    value
        .as_str()
        .map_or_else(|| flat(value), |it| it.len() as u64)
}

/// What is looked at to get at one place: of a list and a map nothing.
fn place(value: &Value) -> u64 {
    match value.kind() {
        ValueKind::Seq | ValueKind::Map => 0,
        _ => flat(value),
    }
}

/// A value with all that is in it; no more than is left is looked at.
pub(super) fn whole(value: &Value) -> u64 {
    let mut sum = 0;
    add(value, 0, LEFT.get(), &mut sum);
    sum
}

fn add(value: &Value, depth: usize, most: u64, sum: &mut u64) {
    *sum = sum.saturating_add(1 + text(value));
    match value.kind() {
        _ if depth > MAX_DEPTH => *sum = u64::MAX,
        ValueKind::Bytes => *sum = sum.saturating_add(flat(value)),
        ValueKind::Seq | ValueKind::Iterable => {
            for item in value.try_iter().into_iter().flatten() {
                add(&item, depth + 1, most, sum);
                if *sum > most {
                    return;
                }
            }
        }
        ValueKind::Map => {
            for key in value.try_iter().into_iter().flatten() {
                add(&key, depth + 1, most, sum);
                if let Ok(item) = value.get_item(&key) {
                    add(&item, depth + 1, most, sum);
                }
                if *sum > most {
                    return;
                }
            }
        }
        _ => {}
    }
}

fn sum(values: impl IntoIterator<Item = u64>) -> u64 {
    values.into_iter().fold(0, u64::saturating_add)
}

/// What is read to look for something in a value: a map knows where it is.
fn searched(value: &Value) -> u64 {
    match value.kind() {
        ValueKind::Map => 1,
        _ => whole(value),
    }
}

/// What a filter reads.
pub(super) fn filter(name: &str, arguments: &[Value]) -> Result<(), Error> {
    let [first, others @ ..] = arguments else {
        return Ok(());
    };
    let all = || sum(arguments.iter().map(whole));
    read(match name {
        "default" | "d" => 1,
        "attr" | "count" | "first" | "last" | "length" => 1 + place(first),
        "ternary" | "mandatory" | "bool" => whole(first).saturating_mul(MAKING),
        "batch" | "chain" | "items" | "list" | "reverse" | "slice" | "zip" => {
            sum(arguments.iter().map(items))
        }
        "map" | "reject" | "rejectattr" | "select" | "selectattr" => each(first, others),
        "sum" => summed(first, others),
        "sort" | "unique" | "groupby" | "dictsort" => {
            let levels = u64::from(64 - items(first).leading_zeros()) + 1;
            compared(first, others, levels)
        }
        "min" | "max" => compared(first, others, 1),
        "from_json" | "from_yaml" | "from_yaml_all" | "pprint" | "regex_replace"
        | "regex_search" | "to_json" | "to_nice_json" | "to_nice_yaml" | "to_yaml" | "toJson"
        | "toYaml" | "tojson" | "toyaml" => all().saturating_mul(PARSING),
        _ => all().saturating_mul(MAKING),
    })?;
    bounds::make(pieces(name, arguments).saturating_mul(ITEM))
}

/// How many values a filter makes of a text.
fn pieces(name: &str, arguments: &[Value]) -> usize {
    let Some(text) = arguments.first().and_then(Value::as_str) else {
        return 0;
    };
    match name {
        "batch" | "groupby" | "list" | "map" | "reject" | "select" | "slice" | "sort"
        | "unique" | "zip" | "chain" => text.len(),
        "split" => parts(text, arguments.get(1).and_then(Value::as_str)),
        "lines" => parts(text, Some("\n")),
        _ => 0,
    }
}

/// Into how many parts a text is split.
pub(super) fn parts(text: &str, separator: Option<&str>) -> usize {
    match separator {
        Some(separator) => text.matches(separator).count() + 1,
        None => text.split_whitespace().count(),
    }
}

/// Texts among arguments, by position and by name.
fn words(arguments: &[Value]) -> Vec<Value> {
    let mut words = Vec::new();
    for argument in arguments {
        if argument.is_kwargs() {
            let names = argument.try_iter().into_iter().flatten();
            words.extend(names.filter_map(|name| argument.get_item(&name).ok()));
        } else {
            words.push(argument.clone());
        }
    }
    words
}

/// What is done with each item is counted where it is done; not what leads to it.
fn each(list: &Value, others: &[Value]) -> u64 {
    let words = words(others);
    // A number in a path counts the characters of a text.
    let counts = |word: &Value| {
        let word = word.as_str().unwrap_or_default();
        word.contains(|c: char| c.is_ascii_digit())
    };
    let read = if words.iter().any(counts) {
        whole(list).max(items(list))
    } else {
        items(list)
    };
    let more = sum(words.iter().map(|word| 1 + text(word)));
    read.saturating_mul(1 + more)
}

/// Numbers are added; all else is put together anew for each item.
fn summed(list: &Value, others: &[Value]) -> u64 {
    let named = others.last().filter(|last| last.is_kwargs());
    let named = named.and_then(|last| last.get_attr("start").ok());
    let start = others.get(1).filter(|start| !start.is_kwargs());
    let joins = |start: &Value| !start.is_number() && !start.is_undefined() && !start.is_none();
    let read = each(list, others);
    if start.is_some_and(joins) || named.as_ref().is_some_and(joins) {
        read.max(whole(list).saturating_mul(items(list)))
    } else {
        read
    }
}

/// Comparisons of all items with some others, so many times: each writes a text in small letters first.
fn compared(list: &Value, others: &[Value], times: u64) -> u64 {
    let mut longest = 0;
    let looked = if list.as_str().is_some() {
        None
    } else {
        list.try_iter().ok()
    };
    for item in looked.into_iter().flatten() {
        longest = longest.max(texts(&item));
        if list.kind() == ValueKind::Map
            && let Ok(item) = list.get_item(&item)
        {
            longest = longest.max(texts(&item));
        }
    }
    let paths = sum(words(others).iter().map(text));
    let count = items(list);
    let comparisons = count.saturating_mul(1 + longest + paths);
    sum([whole(list), comparisons]).saturating_mul(times)
}

/// The longest text that an item may be compared by.
fn texts(item: &Value) -> u64 {
    match item.kind() {
        ValueKind::Map => {
            let keys = item.try_iter().into_iter().flatten();
            let values = keys.filter_map(|key| item.get_item(&key).ok());
            values.map(|value| text(&value)).max().unwrap_or_default()
        }
        _ => text(item),
    }
}

/// Tests that read what they are given.
const TESTS: [&str; 22] = [
    "!=",
    "<",
    "<=",
    "==",
    ">",
    ">=",
    "endingwith",
    "eq",
    "equalto",
    "ge",
    "greaterthan",
    "gt",
    "in",
    "iterable",
    "le",
    "lessthan",
    "lower",
    "lt",
    "ne",
    "sameas",
    "startingwith",
    "upper",
];

/// Filters that make little or nothing of what they read.
pub(super) const READING: [&str; 22] = [
    "abs",
    "attr",
    "capitalize",
    "chain",
    "count",
    "d",
    "default",
    "first",
    "float",
    "int",
    "last",
    "length",
    "mandatory",
    "max",
    "min",
    "regex_replace",
    "round",
    "safe",
    "sum",
    "ternary",
    "zip",
    "tojson",
];

type Nested = fn(&mut State<'_, '_>, &[Value]) -> Result<Value, Error>;

/// Filters that call others: those of the environment, which count for themselves.
const NESTED: [(&str, Nested); 5] = [
    ("map", |state, arguments| {
        let (list, others) = from_args(arguments)?;
        filters::map(state, list, others).map(Value::from)
    }),
    ("select", |state, arguments| {
        let (list, test, others) = from_args(arguments)?;
        filters::select(state, list, test, others).map(Value::from)
    }),
    ("reject", |state, arguments| {
        let (list, test, others) = from_args(arguments)?;
        filters::reject(state, list, test, others).map(Value::from)
    }),
    ("selectattr", |state, arguments| {
        let (list, name, test, others) = from_args(arguments)?;
        filters::selectattr(state, list, name, test, others).map(Value::from)
    }),
    ("rejectattr", |state, arguments| {
        let (list, name, test, others) = from_args(arguments)?;
        filters::rejectattr(state, list, name, test, others).map(Value::from)
    }),
];

/// Sets up tests, functions and what the operators call.
pub(super) fn add_to(environment: &mut Environment<'_>) {
    for (name, plain) in NESTED {
        environment.add_filter(
            name,
            move |state: &mut State<'_, '_>, arguments: Rest<ValueOrKwargs>| {
                let arguments = arguments.into_values();
                filter(name, &arguments)?;
                plain(state, &arguments)
            },
        );
    }
    for name in TESTS {
        environment.add_test(name, move |arguments: Rest<ValueOrKwargs>| {
            let arguments = arguments.into_values();
            read(tested(name, &arguments))?;
            PLAIN.empty_state().perform_test(name, &arguments)
        });
    }
    environment.add_function("dict", |map: Option<Value>, more: Kwargs| {
        read(map.as_ref().map_or(0, flat))?;
        minijinja::functions::dict(map, more)
    });
    environment.add_function("namespace", |first: Option<ValueOrKwargs>| {
        let given = first.clone().map(ValueOrKwargs::into_value);
        read(given.as_ref().map_or(0, flat))?;
        minijinja::functions::namespace(first)
    });
    // It shows all that there is, however large.
    environment.remove_global("debug");
    for (name, reads) in [
        (READ, whole as fn(&Value) -> u64),
        (SEARCHED, searched),
        (SLICED, flat),
        (NAMED, |names| whole(names).saturating_mul(PARSING)),
    ] {
        environment.add_function(name, move |value: Value| {
            read(reads(&value))?;
            Ok::<_, Error>(value)
        });
    }
    environment.add_function(ITERATED, |value: Value, plain: Option<usize>| {
        read(place(&value))?;
        let rounds = items(&value).min(MAX_READ) as usize;
        bounds::make(rounds.saturating_mul(plain.unwrap_or_default()))?;
        Ok::<_, Error>(value)
    });
    environment.add_function(LIST, settled);
}

fn tested(name: &str, arguments: &[Value]) -> u64 {
    match (name, arguments) {
        ("in", [value, list, ..]) => whole(value).saturating_add(searched(list)),
        ("iterable", [value, ..]) => place(value),
        ("endingwith" | "lower" | "startingwith" | "upper", _) => sum(arguments.iter().map(whole)),
        (_, [_, other, ..]) => whole(other),
        _ => 0,
    }
}

/// A list in the place of what would be made anew whenever it is looked at.
pub(super) fn settled(value: Value) -> Result<Value, Error> {
    read(flat(&value))?;
    match value.kind() {
        ValueKind::Iterable => {
            let items = value.len().unwrap_or_default();
            bounds::make(items.saturating_mul(ITEM))?;
            Ok(value.try_iter()?.collect::<Vec<_>>().into())
        }
        ValueKind::String => {
            bounds::make(value.as_str().map_or(0, str::len))?;
            Ok(value)
        }
        _ => Ok(value),
    }
}

/// The same of what a filter made: maps that are laid over each other become one.
pub(super) fn settled_by(name: &str, value: Value) -> Result<Value, Error> {
    match (name, value.kind()) {
        ("chain", ValueKind::Map) => {
            let keys = value.try_iter()?;
            let pairs = keys.map(|key| Ok((key.clone(), value.get_item(&key)?)));
            let pairs = pairs.collect::<Result<Vec<_>, Error>>()?;
            Ok(Value::from_pairs(pairs))
        }
        ("chain", ValueKind::Seq) => Ok(value.try_iter()?.collect::<Vec<_>>().into()),
        ("chain" | "items" | "reverse" | "sum" | "zip", ValueKind::Iterable)
        | ("sum", ValueKind::String) => settled(value),
        _ => Ok(value),
    }
}
