//! Formats values like Go, for messages that clients read.

mod duration;
mod json;
mod structs;

use std::fmt::Write;

use serde_json::{Number, Value};

pub(crate) use duration::parse_duration;
pub(super) use json::json;
pub(super) use structs::{object, owners, security_context};

/// The Go type of kind and apiVersion, which error messages contain.
pub(super) const TYPE_META: &str = r#"struct { APIVersion string "json:\"apiVersion,omitempty\""; Kind string "json:\"kind,omitempty\"" }"#;

/// Formats a decoded value with `%v`: `map[a:1 b:[x y]]`.
pub(super) fn plain(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            format!("[{}]", items.join(" "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{name}:{}", plain(value)))
                .collect();
            format!("map[{}]", fields.join(" "))
        }
        Value::Number(number) => self::number(number),
        Value::Bool(flag) => flag.to_string(),
    }
}

/// Returns the name of a value's type in errors of Go's JSON decoder.
pub(super) fn json_kind(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}

/// Formats the type of a decoded value with `%T`.
pub(super) fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "<nil>",
        Value::Bool(_) => "bool",
        Value::Number(number) if number.is_i64() => "int64",
        Value::Number(_) => "float64",
        Value::String(_) => "string",
        Value::Array(_) => "[]interface {}",
        Value::Object(_) => "map[string]interface {}",
    }
}

/// Formats a decoded value with `%#v`.
pub(super) fn literal(value: &Value) -> String {
    match value {
        Value::Null => "interface {}(nil)".to_owned(),
        Value::String(text) => quote(text),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(literal).collect();
            format!("[]interface {{}}{{{}}}", items.join(", "))
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields
                .iter()
                .map(|(name, value)| format!("{}:{}", quote(name), literal(value)))
                .collect();
            format!("map[string]interface {{}}{{{}}}", fields.join(", "))
        }
        Value::Number(number) => self::number(number),
        Value::Bool(flag) => flag.to_string(),
    }
}

/// Formats a string with `%q`.
pub(super) fn quote(text: &str) -> String {
    let mut quoted = String::with_capacity(text.len() + 2);
    quoted.push('"');
    for letter in text.chars() {
        match letter {
            '"' => quoted.push_str("\\\""),
            '\\' => quoted.push_str("\\\\"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{b}' => quoted.push_str("\\v"),
            '\u{c}' => quoted.push_str("\\f"),
            _ if letter.is_ascii_control() => {
                let _ = write!(quoted, "\\x{:02x}", u32::from(letter));
            }
            _ if is_printable(letter) => quoted.push(letter),
            '\u{10000}'.. => {
                let _ = write!(quoted, "\\U{:08x}", u32::from(letter));
            }
            _ => {
                let _ = write!(quoted, "\\u{:04x}", u32::from(letter));
            }
        }
    }
    quoted.push('"');
    quoted
}

/// Formats a rune with `%q`.
pub(super) fn quote_letter(letter: char) -> String {
    match letter {
        '\'' => "'\\''".to_owned(),
        '"' => "'\"'".to_owned(),
        letter => {
            let quoted = quote(letter.encode_utf8(&mut [0; 4]));
            format!("'{}'", &quoted[1..quoted.len() - 1])
        }
    }
}

/// Returns the result of `unicode.IsPrint` of Go. Rust escapes the same categories, and also combining
/// characters at the beginning of a text.
fn is_printable(letter: char) -> bool {
    letter.is_ascii() || !format!("a{letter}").escape_debug().any(|it| it == '\\')
}

/// Formats a decoded number with `%v`. A number that is not an `int64` is a `float64`.
fn number(number: &Number) -> String {
    match number.as_i64() {
        Some(integer) => integer.to_string(),
        None => float(number.as_f64().unwrap_or_default()),
    }
}

/// Formats a `float64` with `%v`, which uses an exponent from a million up and below 1e-4.
pub(super) fn float(number: f64) -> String {
    let magnitude = number.abs();
    if magnitude != 0.0 && !(1e-4..1e6).contains(&magnitude) {
        let text = format!("{number:e}");
        let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
        let (sign, exponent) = match exponent.strip_prefix('-') {
            Some(exponent) => ('-', exponent),
            None => ('+', exponent),
        };
        return format!("{digits}e{sign}{exponent:0>2}");
    }
    number.to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_print_as_in_go() {
        for (number, text) in [
            (1.0, "1"),
            (0.5, "0.5"),
            (-0.0, "-0"),
            (999_999.0, "999999"),
            (1e6, "1e+06"),
            (123_456_789.0, "1.23456789e+08"),
            (1e21, "1e+21"),
            (0.000_1, "0.0001"),
            (0.000_01, "1e-05"),
        ] {
            assert_eq!(float(number), text);
        }
    }

    #[test]
    fn strings_quote_as_in_go() {
        assert_eq!(quote("a\"b\\\n\u{1}é"), r#""a\"b\\\n\x01é""#);
        assert_eq!(
            quote("\u{7f}\u{80}\u{feff}\u{200b}"),
            r#""\x7f\u0080\ufeff\u200b""#
        );
    }
}
