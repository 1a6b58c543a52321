//! Encodes objects as Go's generated marshalers do: in the order of the field numbers, with the zero of
//! each field that is not a pointer.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value};

use super::MAGIC;
use super::wire::{write_bytes, write_fixed, write_number};
use crate::fields::{self, Field, FieldType, Type};

/// Encodes an object; none if its kind has no protobuf, such as tables and custom resources.
pub(crate) fn encode(object: &Value) -> Option<Vec<u8>> {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let found = fields::types().of_kind(api_version, kind)?;
    let mut raw = Vec::new();
    message(&mut raw, found, object.as_object()?);
    let mut meta = Vec::new();
    write_bytes(&mut meta, 1, api_version.as_bytes());
    write_bytes(&mut meta, 2, kind.as_bytes());
    let mut body = MAGIC.to_vec();
    write_bytes(&mut body, 1, &meta);
    write_bytes(&mut body, 2, &raw);
    // The encoding and the media type of the message, which are never set.
    write_bytes(&mut body, 3, b"");
    write_bytes(&mut body, 4, b"");
    Some(body)
}

/// Encodes a watch event with its length in front.
pub(crate) fn encode_event(kind: &str, object: &Value) -> Option<Vec<u8>> {
    let mut extension = Vec::new();
    write_bytes(&mut extension, 1, &encode(object)?);
    let mut event = Vec::new();
    write_bytes(&mut event, 1, kind.as_bytes());
    write_bytes(&mut event, 2, &extension);
    let mut frame = u32::try_from(event.len()).ok()?.to_be_bytes().to_vec();
    frame.extend(event);
    Some(frame)
}

fn message(out: &mut Vec<u8>, found: &Type, object: &Map<String, Value>) {
    let mut fields: Vec<&Field> = found.fields.iter().collect();
    fields.sort_by_key(|field| field.number);
    for field in fields.into_iter().filter(|field| field.number > 0) {
        match (&field.shape, field.name) {
            (FieldType::Message(at), "") => {
                let mut inner = Vec::new();
                message(&mut inner, fields::types().at(*at), object);
                write_bytes(out, field.number, &inner);
            }
            (shape, name) => value(out, field.number, shape, object.get(name)),
        }
    }
}

/// Writes the records of a field. A pointer, a list and a map have none if they are absent.
fn value(out: &mut Vec<u8>, number: u64, shape: &FieldType, value: Option<&Value>) {
    let value = value.filter(|value| !value.is_null());
    match (shape, value) {
        (FieldType::Pointer(inner), Some(_)) => self::value(out, number, inner, value),
        (FieldType::List(inner), Some(Value::Array(items))) => {
            for item in items {
                self::value(out, number, inner, Some(item));
            }
        }
        (FieldType::Map(inner), Some(Value::Object(entries))) => {
            for (key, one) in entries {
                let mut entry = Vec::new();
                write_bytes(&mut entry, 1, key.as_bytes());
                self::value(&mut entry, 2, inner, Some(one));
                write_bytes(out, number, &entry);
            }
        }
        (FieldType::Pointer(_) | FieldType::List(_) | FieldType::Map(_), _) => {}
        (FieldType::Bool, value) => {
            let is_true = value.and_then(Value::as_bool) == Some(true);
            write_number(out, number, u64::from(is_true));
        }
        (FieldType::Int, value) => {
            let number_of = |value: &Value| value.as_i64().or_else(|| integer(value.as_f64()?));
            let integer = value.and_then(number_of).unwrap_or_default();
            write_number(out, number, integer.cast_unsigned());
        }
        (FieldType::Float, value) => {
            let float = value.and_then(Value::as_f64).unwrap_or_default();
            write_fixed(out, number, float.to_bits());
        }
        (shape, value) => bytes(out, number, shape, value),
    }
}

/// Returns a float without a fraction, such as `1e3`, as an integer.
fn integer(float: f64) -> Option<i64> {
    format!("{float:.0}").parse().ok()
}

/// Writes the record of a field with a string, bytes or a message.
fn bytes(out: &mut Vec<u8>, number: u64, shape: &FieldType, value: Option<&Value>) {
    let text = || value.and_then(Value::as_str).unwrap_or_default();
    let mut inner = Vec::new();
    match shape {
        FieldType::String => inner.extend(text().bytes()),
        FieldType::Bytes if value.is_none() => return,
        FieldType::Bytes => inner = STANDARD.decode(text()).unwrap_or_default(),
        FieldType::Message(at) => {
            let empty = Map::new();
            let object = value.and_then(Value::as_object).unwrap_or(&empty);
            message(&mut inner, fields::types().at(*at), object);
        }
        FieldType::OneOf(at) => one_of(&mut inner, fields::types().at(*at), value),
        FieldType::Time | FieldType::MicroTime => time(&mut inner, text()),
        FieldType::Raw => {
            if let Some(value) = value {
                write_bytes(&mut inner, 1, value.to_string().as_bytes());
            }
        }
        FieldType::Quantity => write_bytes(&mut inner, 1, quantity(value).as_bytes()),
        FieldType::IntOrString => {
            let integer = value.and_then(Value::as_i64).unwrap_or_default();
            write_number(
                &mut inner,
                1,
                u64::from(value.is_some_and(Value::is_string)),
            );
            write_number(&mut inner, 2, integer.cast_unsigned());
            write_bytes(&mut inner, 3, text().as_bytes());
        }
        FieldType::Items => {
            for item in value.and_then(Value::as_array).into_iter().flatten() {
                write_bytes(&mut inner, 1, item.as_str().unwrap_or_default().as_bytes());
            }
        }
        // No field of a built-in kind has one.
        _ => return,
    }
    write_bytes(out, number, &inner);
}

fn quantity(value: Option<&Value>) -> String {
    match value {
        Some(Value::String(text)) => text.clone(),
        Some(Value::Number(number)) => number.to_string(),
        _ => "0".to_owned(),
    }
}

/// Writes seconds and nanoseconds. The zero time is an empty message.
fn time(out: &mut Vec<u8>, text: &str) {
    let Ok(time) = text.parse::<Timestamp>() else {
        return;
    };
    let nanoseconds = time.as_nanosecond();
    let second = 1_000_000_000;
    let part = |number: i128| i64::try_from(number).unwrap_or_default().cast_unsigned();
    write_number(out, 1, part(nanoseconds.div_euclid(second)));
    write_number(out, 2, part(nanoseconds.rem_euclid(second)));
}

/// Writes the alternative that fits a value. The boolean of a schema is true.
fn one_of(out: &mut Vec<u8>, found: &Type, value: Option<&Value>) {
    for field in &found.fields {
        match (&field.shape, value) {
            (FieldType::Bool, Some(value)) => {
                let is_true = value.is_object() || *value == Value::Bool(true);
                write_number(out, field.number, u64::from(is_true));
            }
            (FieldType::List(_), Some(Value::Array(_)))
            | (FieldType::Pointer(_), Some(Value::Object(_))) => {
                self::value(out, field.number, &field.shape, value);
            }
            _ => {}
        }
    }
}
