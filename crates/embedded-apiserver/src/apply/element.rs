//! An element of a path in a field set: a field, or a list item by key, value or index.
//!
//! The order, the text and the wire format are those of `fieldpath.PathElement` of structured-merge-diff.

use std::{cmp::Ordering, fmt, sync::Arc};

use serde_json::Value;

use crate::go;

/// An element of a path.
#[derive(Clone, Debug)]
pub(super) enum Element {
    /// `f:`: a field of a map.
    Field(Arc<str>),
    /// `k:`: the item with these values in its key fields, sorted by name.
    Key(Arc<[(Box<str>, Value)]>),
    /// `v:`: an item of a set.
    Item(Arc<Value>),
    /// `i:`: the item at an index.
    Index(usize),
}

impl Element {
    pub(super) fn field(name: &str) -> Self {
        Self::Field(name.into())
    }

    /// Parses the wire format. Returns `None` for unknown forms, which the caller ignores.
    pub(super) fn parse(text: &str) -> Result<Option<Self>, String> {
        let Some((form, rest)) = text.split_at_checked(2) else {
            return Err("key must be 2 characters long:".to_owned());
        };
        if !form.ends_with(':') {
            return Err(format!("missing colon: {text}"));
        }
        match form {
            "f:" => Ok(Some(Self::field(rest))),
            "v:" => match serde_json::from_str(rest) {
                Ok(value) => Ok(Some(Self::Item(Arc::new(read(value))))),
                Err(error) => Err(error.to_string()),
            },
            "k:" => match serde_json::from_str::<Value>(rest) {
                Ok(Value::Object(fields)) => {
                    // Maps of serde_json are sorted by key.
                    let fields = fields.into_iter();
                    let fields = fields.map(|(name, value)| (name.into(), read(value)));
                    Ok(Some(Self::Key(fields.collect())))
                }
                Ok(other) => Err(format!("expected a map, got {other}")),
                Err(error) => Err(error.to_string()),
            },
            "i:" => match rest.parse() {
                Ok(index) => Ok(Some(Self::Index(index))),
                Err(_) => Err(format!("strconv.Atoi: parsing {rest:?}: invalid syntax")),
            },
            _ => Ok(None),
        }
    }

    /// Returns the wire format.
    pub(super) fn wire(&self) -> String {
        match self {
            Self::Field(name) => format!("f:{name}"),
            Self::Key(fields) => {
                let parts: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| {
                        format!("{}:{}", go::json(&Value::from(&**name)), write(value))
                    })
                    .collect();
                format!("k:{{{}}}", parts.join(","))
            }
            Self::Item(value) => format!("v:{}", write(value)),
            Self::Index(index) => format!("i:{index}"),
        }
    }
}

/// Converts a large number of the wire format to a float, because messages show it as one: `[id=1e+06]`.
fn read(value: Value) -> Value {
    match value.as_i64() {
        // Smaller numbers have the same text as integers and as floats.
        Some(number) if number.abs() >= 1_000_000 => value.as_f64().map_or(value, Value::from),
        _ => value,
    }
}

fn write(value: &Value) -> String {
    match value.as_f64() {
        Some(number) if value.is_f64() && number.fract() == 0.0 && number.abs() < 1e21 => {
            format!("{number:.0}")
        }
        _ => go::json(value),
    }
}

/// Formats the value of a key or an item for a path.
fn path_value(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::String(text) => go::quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(path_value).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(name, value)| [name, "=", &path_value(value)].concat());
            fields.collect()
        }
        Value::Number(number) if number.is_f64() => go::float(number.as_f64().unwrap_or_default()),
        other => other.to_string(),
    }
}

impl fmt::Display for Element {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Field(name) => write!(f, ".{name}"),
            Self::Key(fields) => {
                let parts: Vec<String> = fields
                    .iter()
                    .map(|(name, value)| format!("{name}={}", path_value(value)))
                    .collect();
                write!(f, "[{}]", parts.join(","))
            }
            Self::Item(value) => write!(f, "[={}]", path_value(value)),
            Self::Index(index) => write!(f, "[{index}]"),
        }
    }
}

impl PartialEq for Element {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Element {}

impl PartialOrd for Element {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Element {
    fn cmp(&self, other: &Self) -> Ordering {
        match (self, other) {
            (Self::Field(one), Self::Field(other)) => one.cmp(other),
            (Self::Key(one), Self::Key(other)) => {
                for ((name, value), (other_name, other_value)) in one.iter().zip(other.iter()) {
                    let order = name
                        .cmp(other_name)
                        .then_with(|| compare(value, other_value));
                    if order != Ordering::Equal {
                        return order;
                    }
                }
                one.len().cmp(&other.len())
            }
            (Self::Item(one), Self::Item(other)) => compare(one, other),
            (Self::Index(one), Self::Index(other)) => one.cmp(other),
            _ => self.rank().cmp(&other.rank()),
        }
    }
}

impl Element {
    fn rank(&self) -> u8 {
        match self {
            Self::Field(_) => 0,
            Self::Key(_) => 1,
            Self::Item(_) => 2,
            Self::Index(_) => 3,
        }
    }
}

/// Compares two values in a total order: numbers, strings, booleans, lists, maps, null.
fn compare(one: &Value, other: &Value) -> Ordering {
    match (one, other) {
        (Value::Number(one), Value::Number(other)) => match (one.as_i64(), other.as_i64()) {
            (Some(one), Some(other)) => one.cmp(&other),
            _ => one
                .as_f64()
                .partial_cmp(&other.as_f64())
                .unwrap_or(Ordering::Equal),
        },
        (Value::String(one), Value::String(other)) => one.cmp(other),
        (Value::Bool(one), Value::Bool(other)) => one.cmp(other),
        (Value::Array(one), Value::Array(other)) => {
            let mut pairs = one.iter().zip(other).map(|(a, b)| compare(a, b));
            pairs
                .find(|order| *order != Ordering::Equal)
                .unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        (Value::Object(one), Value::Object(other)) => {
            let mut pairs = one
                .iter()
                .zip(other)
                .map(|((name, a), (other, b))| name.cmp(other).then_with(|| compare(a, b)));
            pairs
                .find(|order| *order != Ordering::Equal)
                .unwrap_or_else(|| one.len().cmp(&other.len()))
        }
        _ => rank(one).cmp(&rank(other)),
    }
}

fn rank(value: &Value) -> u8 {
    match value {
        Value::Number(_) => 0,
        Value::String(_) => 1,
        Value::Bool(_) => 2,
        Value::Array(_) => 3,
        Value::Object(_) => 4,
        Value::Null => 5,
    }
}

/// Returns whether two values are equal in structured-merge-diff: `1` equals `1.0`.
pub(super) fn same(one: &Value, other: &Value) -> bool {
    compare(one, other) == Ordering::Equal
}
