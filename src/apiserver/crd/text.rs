//! How Go prints what stands in messages.

use serde_json::Value;

/// A string as `%q` prints it.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for it in text.chars() {
        match it {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            control if control.is_ascii_control() => {
                quoted.push_str("\\x");
                quoted.push(char::from_digit(u32::from(control) / 16, 16).unwrap_or('0'));
                quoted.push(char::from_digit(u32::from(control) % 16, 16).unwrap_or('0'));
            }
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    quoted
}

/// A float as `%v` prints it: an exponent from 1e21 on and below 1e-4.
pub(super) fn float(number: f64) -> String {
    let size = number.abs();
    if size == 0.0 || (1e-4..1e21).contains(&size) {
        return number.to_string();
    }
    let text = format!("{number:e}");
    match text.split_once('e') {
        Some((digits, exponent)) => {
            let (sign, power) = match exponent.strip_prefix('-') {
                Some(power) => ('-', power),
                None => ('+', exponent),
            };
            format!("{digits}e{sign}{power:0>2}")
        }
        None => text,
    }
}

/// A value as `%v` prints it: `map[a:1 b:[x y]]`.
pub(super) fn go(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::Bool(it) => it.to_string(),
        Value::Number(it) if it.is_i64() => it.to_string(),
        Value::Number(it) => float(it.as_f64().unwrap_or_default()),
        Value::String(it) => it.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(go).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let pairs = fields
                .iter()
                .map(|(key, value)| format!("{key}:{}", go(value)));
            format!("map[{}]", pairs.collect::<Vec<_>>().join(" "))
        }
    }
}

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

/// Integral floats become integers, as Go writes them.
pub fn canonical_numbers(value: &mut Value) {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_go() {
        assert_eq!(float(1.0), "1");
        assert_eq!(float(0.5), "0.5");
        assert_eq!(float(1e21), "1e+21");
        assert_eq!(float(0.000_01), "1e-05");
    }

    #[test]
    fn strings_quote_as_in_go() {
        assert_eq!(quote("a\"b\\\n\u{1}é"), r#""a\"b\\\n\x01é""#);
    }
}
