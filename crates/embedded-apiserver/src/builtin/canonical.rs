//! Converts built-in objects to the form that the Go types of the real server give them.
//!
//! Removes unknown fields, nulls and empty optional fields. Adds the structs that Go always writes
//! (`resources: {}`). Writes quantities and times in canonical form. Does not change a value of a wrong type,
//! which the check of the schema reports.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::quantity;
use crate::fields::{self, Field, FieldType, OmitCondition, Type};

/// A function that changes a struct before its fields. Its arguments are the name of the type and the
/// struct.
pub(super) type Visit<'a> = &'a dyn Fn(&str, &mut Map<String, Value>);

/// Converts an object of a built-in kind to the form in which the real server returns it.
pub(crate) fn canonical(group: &str, version: &str, kind: &str, object: &mut Value) {
    canonical_with(group, version, kind, object, &|_, _| {});
}

/// Converts an object as [`canonical`] does, and calls a function on each struct, parents first.
pub(super) fn canonical_with(
    group: &str,
    version: &str,
    kind: &str,
    object: &mut Value,
    visit: Visit,
) {
    let api_version = api_version(group, version);
    let Some(found) = fields::types().of_kind(&api_version, kind) else {
        return;
    };
    if let Value::Object(map) = object {
        let mut given = std::mem::take(map);
        *map = message(found, &mut given, visit).0;
    }
}

/// Returns `group/version`, or the version alone for the core group.
pub(super) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// Returns the JSON of a struct, and whether it is the zero value in Go.
fn message(
    found: &Type,
    given: &mut Map<String, Value>,
    visit: Visit,
) -> (Map<String, Value>, bool) {
    visit(found.name, given);
    let mut written = Map::new();
    let mut all_zero = true;
    for field in &found.fields {
        if field.name.is_empty() {
            let (inlined, zero) = inlined(field, given, visit);
            written.extend(inlined);
            all_zero &= zero;
            continue;
        }
        let (value, zero) = canonical_value(&field.shape, given.remove(field.name), visit);
        all_zero &= zero;
        if !is_omitted(field, zero) {
            written.insert(field.name.to_owned(), value);
        }
    }
    (written, all_zero)
}

fn inlined(
    field: &Field,
    given: &mut Map<String, Value>,
    visit: Visit,
) -> (Map<String, Value>, bool) {
    match &field.shape {
        FieldType::Message(at) => message(fields::types().at(*at), given, visit),
        _ => (Map::new(), true),
    }
}

fn is_omitted(field: &Field, zero: bool) -> bool {
    match field.omit {
        OmitCondition::Never => false,
        OmitCondition::Zero => zero,
        OmitCondition::Empty => zero && !is_struct(&field.shape),
    }
}

/// Returns whether the type is a struct in Go, which `omitempty` never omits.
fn is_struct(shape: &FieldType) -> bool {
    matches!(
        shape,
        FieldType::Message(_)
            | FieldType::Time
            | FieldType::MicroTime
            | FieldType::Duration
            | FieldType::Quantity
            | FieldType::IntOrString
    )
}

/// Returns the JSON of a field, and whether it is the zero value in Go.
fn canonical_value(shape: &FieldType, value: Option<Value>, visit: Visit) -> (Value, bool) {
    let value = value.unwrap_or(Value::Null);
    match shape {
        FieldType::Pointer(inner) => match value {
            Value::Null => (Value::Null, true),
            value => (canonical_value(inner, Some(value), visit).0, false),
        },
        FieldType::Message(at) => match value {
            Value::Object(mut map) => {
                let (map, zero) = message(fields::types().at(*at), &mut map, visit);
                (Value::Object(map), zero)
            }
            Value::Null => canonical_value(shape, Some(json!({})), visit),
            other => (other, false),
        },
        FieldType::List(inner) => match value {
            Value::Array(items) if items.is_empty() => (Value::Null, true),
            Value::Array(items) => {
                let item = |one| canonical_value(inner, Some(one), visit).0;
                (items.into_iter().map(item).collect(), false)
            }
            other => unknown(other),
        },
        FieldType::Map(inner) => match value {
            Value::Object(map) if map.is_empty() => (Value::Null, true),
            Value::Object(map) => {
                let entry = |(key, one)| match **inner {
                    // The only maps of quantities are lists of resources. Go rounds them up to thousandths.
                    FieldType::Quantity => (key, quantity_of(one, quantity::canonical_milli)),
                    _ => (key, canonical_value(inner, Some(one), visit).0),
                };
                (map.into_iter().map(entry).collect(), false)
            }
            other => unknown(other),
        },
        scalar => canonical_scalar(scalar, value),
    }
}

/// Returns a value of another type unchanged, so that a later check reports it. A null counts as zero.
fn unknown(value: Value) -> (Value, bool) {
    let zero = value.is_null();
    (value, zero)
}

fn canonical_scalar(shape: &FieldType, value: Value) -> (Value, bool) {
    let zero = match shape {
        FieldType::String | FieldType::Duration | FieldType::Bytes => json!(""),
        FieldType::Bool => json!(false),
        FieldType::Int | FieldType::Float | FieldType::IntOrString => json!(0),
        FieldType::Quantity => json!("0"),
        _ => Value::Null,
    };
    let value = match (shape, value) {
        (_, Value::Null) => zero.clone(),
        (FieldType::Quantity, value) => quantity_of(value, quantity::canonical),
        (FieldType::Bytes, Value::String(text)) => bytes(text),
        (FieldType::Time, Value::String(text)) => time(text, "%Y-%m-%dT%H:%M:%SZ"),
        (FieldType::MicroTime, Value::String(text)) => time(text, "%Y-%m-%dT%H:%M:%S%.6fZ"),
        (_, other) => other,
    };
    let is_zero = value == zero;
    (value, is_zero)
}

/// Returns base64 without the line breaks, which Go's decoder ignores.
fn bytes(text: String) -> Value {
    if text.contains(['\r', '\n']) {
        return text.replace(['\r', '\n'], "").into();
    }
    text.into()
}

fn quantity_of(value: Value, canonical: fn(&str) -> Option<String>) -> Value {
    let text = match &value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => return value,
    };
    canonical(&text).map_or(value, Value::String)
}

fn time(text: String, format: &str) -> Value {
    match text.parse::<Timestamp>() {
        Ok(time) => Value::String(time.strftime(format).to_string()),
        Err(_) => Value::String(text),
    }
}
