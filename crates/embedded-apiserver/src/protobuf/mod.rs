//! Bodies in Kubernetes' protobuf, as client-go exchanges them for built-in kinds.
//!
//! A body is `k8s\0` and a `runtime.Unknown` that names the kind, whose message follows the Go type's
//! protobuf numbers.
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#protobuf-encoding>

mod encode;
mod wire;

#[cfg(test)]
mod tests;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::error::ApiError;
use super::fields::{self, Field, FieldType, OmitCondition, Type};
use crate::schema::decode::{self, MAX_DEPTH};
pub(crate) use encode::{encode, encode_event};
use wire::{Malformed, Record, records};

/// The first bytes of a body.
const MAGIC: &[u8] = b"k8s\0";

/// The error for a body that does not begin with [`MAGIC`].
const NO_PROTOBUF: &str =
    "provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]";

/// Below it, a float holds each integer exactly.
const LARGEST_EXACT: f64 = 9_007_199_254_740_992.0;

/// Decodes a body into a JSON object.
pub(crate) fn decode(body: &[u8]) -> Result<Value, ApiError> {
    let malformed = |_| ApiError::bad_request("couldn't decode the protobuf body: malformed data");
    let envelope = body
        .strip_prefix(MAGIC)
        .ok_or_else(|| ApiError::bad_request(NO_PROTOBUF))?;
    let (api_version, kind, raw) = unknown(envelope).map_err(malformed)?;
    let types = fields::types();
    let found = types.of_kind(&api_version, &kind).or_else(|| {
        // Every group has a DeleteOptions type, and all of them are equal.
        (kind == "DeleteOptions").then(|| types.of_kind("v1", "DeleteOptions"))?
    });
    let Some(found) = found else {
        let message =
            format!("no protobuf of {api_version}, Kind={kind} is understood here: send JSON");
        return Err(ApiError::unsupported_media_type(message));
    };
    let mut object = message(found, raw, 0).map_err(malformed)?;
    object.insert("apiVersion".to_owned(), json!(api_version));
    object.insert("kind".to_owned(), json!(kind));
    Ok(Value::Object(object))
}

/// Returns the apiVersion, the kind and the message of a `runtime.Unknown`.
fn unknown(envelope: &[u8]) -> Result<(String, String, &[u8]), Malformed> {
    let (mut api_version, mut kind, mut raw) = (String::new(), String::new(), &[][..]);
    for record in records(envelope) {
        match record? {
            (1, Record::Bytes(meta)) => {
                for record in records(meta) {
                    match record? {
                        (1, Record::Bytes(bytes)) => api_version = text(bytes)?,
                        (2, Record::Bytes(bytes)) => kind = text(bytes)?,
                        _ => {}
                    }
                }
            }
            (2, Record::Bytes(bytes)) => raw = bytes,
            _ => {}
        }
    }
    Ok((api_version, kind, raw))
}

fn text(bytes: &[u8]) -> Result<String, Malformed> {
    String::from_utf8(bytes.to_vec()).map_err(|_| Malformed)
}

/// Decodes a message that is nested in `depth` others. Schemas contain schemas, so the body could nest
/// without limit.
fn message(found: &Type, bytes: &[u8], depth: usize) -> Result<Map<String, Value>, Malformed> {
    if depth > MAX_DEPTH {
        return Err(Malformed);
    }
    let mut object = Map::new();
    for record in records(bytes) {
        let (number, record) = record?;
        let field = found.fields.iter().find(|field| field.number == number);
        if let Some(field) = field {
            read(&mut object, field, record, depth)?;
        }
    }
    Ok(object)
}

fn read(
    object: &mut Map<String, Value>,
    field: &Field,
    record: Record,
    depth: usize,
) -> Result<(), Malformed> {
    if field.name.is_empty() {
        if let Value::Object(inner) = value(&field.shape, record, depth)? {
            object.extend(inner);
        }
        return Ok(());
    }
    match &field.shape {
        FieldType::List(inner) => {
            let list = object.entry(field.name).or_insert_with(|| json!([]));
            if let Value::Array(list) = list {
                list.extend(repeated(inner, record, depth)?);
            }
        }
        FieldType::Map(inner) => {
            let (key, one) = entry(inner, record, depth)?;
            let map = object.entry(field.name).or_insert_with(|| json!({}));
            if let Value::Object(map) = map {
                map.insert(key, one);
            }
        }
        shape => {
            let value = value(shape, record, depth)?;
            // Protobuf contains the zero of each field that is not a pointer. JSON omits it.
            if field.omit == OmitCondition::Never || !is_zero(shape, &value) {
                object.insert(field.name.to_owned(), value);
            }
        }
    }
    Ok(())
}

/// Returns whether Go's `omitempty` omits a value. It never omits a pointer or a struct.
fn is_zero(shape: &FieldType, value: &Value) -> bool {
    match shape {
        FieldType::String => value == "",
        FieldType::Bool => value == false,
        FieldType::Int => value == 0,
        FieldType::Float => value == 0.0,
        _ => false,
    }
}

/// Decodes one item, or several packed numbers of one record.
fn repeated(shape: &FieldType, record: Record, depth: usize) -> Result<Vec<Value>, Malformed> {
    match (shape, record) {
        (FieldType::Int, Record::Bytes(packed)) => wire::varints(packed)
            .map(|number| number.map(|number| json!(number.cast_signed())))
            .collect(),
        (shape, record) => Ok(vec![value(shape, record, depth)?]),
    }
}

fn entry(shape: &FieldType, record: Record, depth: usize) -> Result<(String, Value), Malformed> {
    let Record::Bytes(bytes) = record else {
        return Err(Malformed);
    };
    let (mut key, mut one) = (String::new(), None);
    for record in records(bytes) {
        match record? {
            (1, Record::Bytes(bytes)) => key = text(bytes)?,
            (2, record) => one = Some(value(shape, record, depth)?),
            _ => {}
        }
    }
    let one = match one {
        Some(one) => one,
        None => value(shape, Record::Bytes(&[]), depth)?,
    };
    Ok((key, one))
}

fn value(shape: &FieldType, record: Record, depth: usize) -> Result<Value, Malformed> {
    match (shape, record) {
        (FieldType::Pointer(inner), record) => value(inner, record, depth),
        (FieldType::Bool, Record::Number(number)) => Ok(json!(number != 0)),
        (FieldType::Int, Record::Number(number)) => Ok(json!(number.cast_signed())),
        (FieldType::Float, Record::Fixed(bits)) => Ok(float(f64::from_bits(bits))),
        (FieldType::String, Record::Bytes(bytes)) => Ok(json!(text(bytes)?)),
        (FieldType::Bytes, Record::Bytes(bytes)) => Ok(json!(STANDARD.encode(bytes))),
        (FieldType::Message(at), Record::Bytes(bytes)) => {
            let found = fields::types().at(*at);
            Ok(Value::Object(message(found, bytes, depth + 1)?))
        }
        (FieldType::OneOf(at), Record::Bytes(bytes)) => {
            one_of(fields::types().at(*at), bytes, depth + 1)
        }
        (shape, Record::Bytes(bytes)) => special(shape, bytes),
        _ => Err(Malformed),
    }
}

/// Returns a float as Go writes it in JSON: without a fraction if it has none.
fn float(float: f64) -> Value {
    if float.fract() == 0.0 && float.abs() < LARGEST_EXACT {
        return format!("{float:.0}")
            .parse::<i64>()
            .map_or_else(|_| json!(float), Value::from);
    }
    json!(float)
}

/// Returns the value of the field that a struct with several alternatives has: an object or a list if it
/// has one, and else the boolean.
fn one_of(found: &Type, bytes: &[u8], depth: usize) -> Result<Value, Malformed> {
    let mut chosen = Value::Null;
    for record in records(bytes) {
        let (number, record) = record?;
        let field = found.fields.iter().find(|field| field.number == number);
        match field.map(|field| &field.shape) {
            Some(FieldType::List(inner)) => {
                let items = repeated(inner, record, depth)?;
                match &mut chosen {
                    Value::Array(known) => known.extend(items),
                    chosen => *chosen = items.into(),
                }
            }
            Some(FieldType::Bool) if chosen.is_object() => {}
            Some(shape) => chosen = value(shape, record, depth)?,
            None => {}
        }
    }
    Ok(chosen)
}

/// Decodes types whose JSON differs from their message.
fn special(shape: &FieldType, bytes: &[u8]) -> Result<Value, Malformed> {
    let (mut first, mut second, mut texts) = (0_i64, 0_i64, Vec::new());
    for record in records(bytes) {
        match record? {
            (1, Record::Number(number)) => first = number.cast_signed(),
            (2, Record::Number(number)) => second = number.cast_signed(),
            (_, Record::Bytes(bytes)) => texts.push(text(bytes)?),
            _ => {}
        }
    }
    let last = texts.last().cloned().unwrap_or_default();
    match shape {
        FieldType::Time | FieldType::MicroTime if first == 0 && second == 0 => Ok(Value::Null),
        FieldType::Time => time(first, 0, "%Y-%m-%dT%H:%M:%SZ"),
        FieldType::MicroTime => time(first, second, "%Y-%m-%dT%H:%M:%S%.6fZ"),
        FieldType::Duration => Ok(json!(format!("{first}ns"))),
        FieldType::Quantity if last.is_empty() => Ok(json!("0")),
        FieldType::IntOrString if first == 0 => Ok(json!(second)),
        FieldType::Quantity | FieldType::IntOrString => Ok(json!(last)),
        FieldType::Items => Ok(json!(texts)),
        FieldType::Raw if last.is_empty() => Ok(Value::Null),
        FieldType::Raw => match decode::json(last.as_bytes()) {
            Ok(decoded) => Ok(decoded.value),
            Err(_) => Err(Malformed),
        },
        _ => Err(Malformed),
    }
}

fn time(seconds: i64, nanoseconds: i64, format: &str) -> Result<Value, Malformed> {
    let nanoseconds = i32::try_from(nanoseconds).map_err(|_| Malformed)?;
    let time = Timestamp::new(seconds, nanoseconds).map_err(|_| Malformed)?;
    Ok(json!(time.strftime(format).to_string()))
}
