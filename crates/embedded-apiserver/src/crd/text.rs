//! Texts of the real server's validation messages, and the form in which it writes numbers.

use serde_json::Value;

use crate::go::quote;

/// Returns the name of a value's type in validation messages of the real server.
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

/// Formats a list of strings like the real server: `"a", "b"`.
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

/// Returns the integer that Go writes for a float. Go writes floats below 1e21 without an exponent, but only
/// 53 bits of them are exact.
#[expect(clippy::cast_possible_truncation, reason = "the range is checked")]
fn integral(number: &serde_json::Number) -> Option<i64> {
    let float = number.as_f64().filter(|_| number.is_f64())?;
    (float.fract() == 0.0 && float.abs() <= 9_007_199_254_740_991.0).then_some(float as i64)
}
