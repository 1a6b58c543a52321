//! Words of the server's validation, and numbers as it writes them.

use serde_json::Value;

use crate::go::quote;

/// The name of a value's type as the server's validation says it.
pub(super) fn type_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(number) if number.is_i64() => "integer",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// A list of strings in the server's words: `"a", "b"`.
pub(super) fn quoted_list<'a>(texts: impl IntoIterator<Item = &'a str>) -> String {
    let quoted: Vec<String> = texts.into_iter().map(quote).collect();
    quoted.join(", ")
}

/// Converts floats without a fraction to integers, as Go writes them.
pub(crate) fn canonical_numbers(value: &mut Value) {
    match value {
        Value::Number(number) => {
            if let Some(whole) = integral(number) {
                *number = whole.into();
            }
        }
        Value::Array(items) => items.iter_mut().for_each(canonical_numbers),
        Value::Object(fields) => fields.values_mut().for_each(canonical_numbers),
        _ => {}
    }
}

/// Floats print without an exponent below 1e21, but only 53 bits of them are exact.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn integral(number: &serde_json::Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_991.0).then_some(float as i64)
}
