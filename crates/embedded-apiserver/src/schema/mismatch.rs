//! Finds values of a wrong JSON type in built-in objects, with the messages of Go's decoder.

use base64::{Engine, engine::general_purpose::STANDARD};
use serde_json::Value;

use super::{
    Schema, Type,
    node::{Map, Scalar},
};
use crate::{error::ApiError, go};

/// Returns a 400 if an object does not match the Go types.
pub(crate) fn check(
    schema: &Schema,
    kind: &str,
    version: &str,
    object: &Value,
) -> Result<(), ApiError> {
    error(schema, object).map_or(Ok(()), |why| {
        Err(ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: {why}"
        )))
    })
}

/// Returns the message of Go for the first wrong value.
pub(crate) fn error(schema: &Schema, object: &Value) -> Option<String> {
    let mut walk = TypeChecker::default();
    if let Err(fatal) = walk.value(schema.root(), "", object) {
        return Some(fatal);
    }
    walk.first
}

#[derive(Default)]
struct TypeChecker {
    /// The current struct, and the names of the fields that lead to the current value.
    owner: String,
    path: Vec<Box<str>>,
    first: Option<String>,
}

/// The result of a custom JSON decoder of a type. An error ends the decoding, while other mismatches are
/// collected.
type DecoderResult = Result<(), String>;

impl TypeChecker {
    fn mismatch(&mut self, found: &str, go: &str) {
        if self.first.is_none() {
            let path = self.path.join(".");
            self.first = Some(format!(
                "json: cannot unmarshal {found} into Go struct field {}.{path} of type {go}",
                self.owner
            ));
        }
    }

    fn value(&mut self, place: Type<'_>, go: &str, value: &Value) -> DecoderResult {
        let node = place.node();
        if value.is_null() {
            return Ok(());
        }
        let named = node.go.as_deref();
        if let Some(read) = self.by_reader(named.unwrap_or(go), value) {
            return read;
        }
        match (&node.map, &node.list, named) {
            (Some(map), _, Some(name)) if !map.fields.is_empty() => {
                return self.of_struct(place, map, name, value);
            }
            (Some(_), None, _) if node.scalar.is_none() => return self.of_map(place, go, value),
            (None, Some(_), _) => return self.of_list(place, go, value),
            (None, None, _) if go == "[]uint8" => {
                self.of_bytes(go, value);
                return Ok(());
            }
            _ => {}
        }
        self.scalar(node.scalar, go, value);
        Ok(())
    }

    fn of_struct(
        &mut self,
        place: Type<'_>,
        map: &Map,
        name: &str,
        value: &Value,
    ) -> DecoderResult {
        let Value::Object(fields) = value else {
            self.mismatch(go::json_kind(value), name);
            return Ok(());
        };
        let short = name.rsplit('.').next().unwrap_or(name);
        let owner = std::mem::replace(&mut self.owner, short.to_owned());
        for (name, value) in fields {
            let Some(field) = map.field(name) else {
                continue;
            };
            let length = self.path.len();
            self.path.extend(field.embedded.iter().cloned());
            self.path.push(name.as_str().into());
            let go = field.go.as_deref().unwrap_or_default();
            self.value(place.at(field.node), go, value)?;
            self.path.truncate(length);
        }
        self.owner = owner;
        Ok(())
    }

    fn of_list(&mut self, place: Type<'_>, go: &str, value: &Value) -> DecoderResult {
        let (Value::Array(values), Some(list)) = (value, &place.node().list) else {
            self.mismatch(go::json_kind(value), go);
            return Ok(());
        };
        let items = go.strip_prefix("[]").unwrap_or("string");
        let items = items.trim_start_matches('*');
        values
            .iter()
            .try_for_each(|value| self.value(place.at(list.items), items, value))
    }

    fn of_map(&mut self, place: Type<'_>, go: &str, value: &Value) -> DecoderResult {
        let rest = place.node().map.as_ref().and_then(|map| map.rest);
        let (Value::Object(fields), Some(rest)) = (value, rest) else {
            self.mismatch(go::json_kind(value), go);
            return Ok(());
        };
        // The name of a named map such as `v1.ResourceList` does not contain the type of its values. If that
        // type is named as well, `value` takes its name from the schema.
        let values = go.split_once(']').map_or("string", |(_, values)| values);
        fields
            .values()
            .try_for_each(|value| self.value(place.at(rest), values, value))
    }

    fn of_bytes(&mut self, go: &str, value: &Value) {
        let Value::String(text) = value else {
            return self.mismatch(go::json_kind(value), go);
        };
        if let Some(why) = bad_base64(text)
            && self.first.is_none()
        {
            self.first = Some(why);
        }
    }

    fn scalar(&mut self, scalar: Option<Scalar>, go: &str, value: &Value) {
        let fits = match scalar {
            Some(Scalar::String) => value.is_string(),
            Some(Scalar::Boolean) => value.is_boolean(),
            Some(Scalar::Numeric) if value.is_number() => {
                if !fits_number(go, value) {
                    self.mismatch(&format!("number {value}"), go);
                }
                true
            }
            Some(Scalar::Numeric) => false,
            Some(Scalar::Untyped) | None => true,
        };
        if !fits {
            self.mismatch(go::json_kind(value), go);
        }
    }

    /// Checks types with a custom JSON decoder. Returns nothing for other types.
    fn by_reader(&mut self, go: &str, value: &Value) -> Option<DecoderResult> {
        let text = value.as_str();
        let read = match go {
            "resource.Quantity" => quantity(value),
            "v1.Time" => time(value, "2006-01-02T15:04:05Z07:00"),
            "v1.MicroTime" => time(value, "2006-01-02T15:04:05.000000Z07:00"),
            "intstr.IntOrString" if text.is_some() => Ok(()),
            "intstr.IntOrString" => {
                self.reader_mismatch(value, "int32", fits_number("int32", value))
            }
            "runtime.RawExtension" | "v1.FieldsV1" => Ok(()),
            _ => return None,
        };
        match read {
            Err(why) if why.is_empty() => Some(self.reader_mismatch(value, "string", false)),
            read => Some(read),
        }
    }

    /// Returns the error for a mismatch within a type with a custom decoder. It ends the decoding.
    fn reader_mismatch(&mut self, value: &Value, go: &str, fits: bool) -> DecoderResult {
        if fits {
            return Ok(());
        }
        let found = match value {
            Value::Number(number) if go == "int32" => format!("number {number}"),
            other => go::json_kind(other).to_owned(),
        };
        let before = self.first.take();
        self.mismatch(&found, go);
        let text = std::mem::replace(&mut self.first, before);
        Err(text.unwrap_or_default())
    }
}

fn fits_number(go: &str, value: &Value) -> bool {
    match go {
        "int32" => value
            .as_i64()
            .is_some_and(|number| i32::try_from(number).is_ok()),
        "float64" => value.is_number(),
        "uint32" => value
            .as_i64()
            .is_some_and(|number| u32::try_from(number).is_ok()),
        _ => value.is_i64(),
    }
}

const QUANTITY: &str =
    "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'";

/// Checks that a value has the form of a quantity: a number and a suffix.
fn quantity(value: &Value) -> DecoderResult {
    let number;
    let text = match value {
        Value::String(text) => text.as_str(),
        Value::Number(found) => {
            number = found.to_string();
            &number
        }
        _ => return Err(QUANTITY.to_owned()),
    };
    let digits = text.trim_start_matches(['+', '-']);
    let sign = text.len() - digits.len();
    let suffix = digits.trim_start_matches(|letter: char| letter.is_ascii_digit() || letter == '.');
    let unit = suffix.trim_start_matches(|letter| "eEinumkKMGTP".contains(letter));
    let exponent = unit.strip_prefix(['-', '+']).unwrap_or(unit);
    let fits = sign <= 1
        && suffix.len() < digits.len()
        && exponent.bytes().all(|byte| byte.is_ascii_digit());
    if fits {
        Ok(())
    } else {
        Err(QUANTITY.to_owned())
    }
}

/// Returns the error at the first difference from Go's layout. An empty error means a value of another
/// type.
fn time(value: &Value, layout: &str) -> DecoderResult {
    let Some(text) = value.as_str() else {
        return Err(String::new());
    };
    let parts = [
        "2006", "-", "01", "-", "02", "T", "15", ":", "04", ":", "05",
    ];
    let mut rest = text;
    let fail = |rest: &str, part: &str| {
        Err(format!(
            "parsing time {text:?} as {layout:?}: cannot parse {rest:?} as {part:?}"
        ))
    };
    for part in parts {
        let fits = if part.starts_with(|letter: char| letter.is_ascii_digit()) {
            let digits = rest.get(..part.len());
            digits.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_digit()))
        } else {
            rest.starts_with(part)
        };
        if !fits {
            return fail(rest, part);
        }
        rest = &rest[part.len()..];
    }
    let fraction = rest.strip_prefix('.').map_or(0, |digits| {
        digits.bytes().take_while(u8::is_ascii_digit).count()
    });
    if layout.contains(".000000") && fraction != 6 {
        return fail(rest, ".000000");
    }
    if fraction > 0 {
        rest = &rest[fraction + 1..];
    }
    let offset = rest.strip_prefix(['+', '-']).is_some_and(|zone| {
        matches!(zone.as_bytes(), [a, b, b':', c, d] if [a, b, c, d].iter().all(|digit| digit.is_ascii_digit()))
    });
    if rest != "Z" && !offset {
        return fail(rest, "Z07:00");
    }
    Ok(())
}

fn bad_base64(text: &str) -> Option<String> {
    let clean: String = text
        .chars()
        .filter(|letter| !matches!(letter, '\r' | '\n'))
        .collect();
    STANDARD.decode(&clean).err()?;
    let wrong = clean
        .bytes()
        .position(|byte| !(byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'/' | b'=')));
    // Go reports the first byte of the group of four that it could not decode.
    let place = wrong.unwrap_or(clean.len() / 4 * 4);
    Some(format!("illegal base64 data at input byte {place}"))
}

#[cfg(test)]
mod tests;
