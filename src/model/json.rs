//! Parses JSON that is nested up to [`MAX_NESTING`] levels deep.
//!
//! `serde_json` parses 127 levels, and reports a syntax error for deeper values. Kubernetes stores
//! thousands of levels, and every author of a custom resource can nest it. So this module parses all JSON
//! from outside. A deeper value is an error that names the limit.
//!
//! Objects and texts have the same limit. Code that copies, compares, writes or drops such a value
//! recurses, so the limit must fit the stacks of all threads that do this.

use std::fmt;

use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;
use serde_json::{Map, Number, Value};

/// The maximum number of levels of maps and lists.
pub(crate) const MAX_NESTING: usize = positioned_yaml::MAX_DEPTH;

/// The maximum nesting of a field set: its leaves are empty maps.
const MAX_FIELD_SET_NESTING: usize = MAX_NESTING + 1;

/// The number of levels that one `serde_json` deserializer handles, with a reserve.
const LEVELS_PER_READER: usize = 100;

/// The reason that a text cannot be parsed.
#[derive(Debug, thiserror::Error)]
pub enum ParseError {
    /// It is nested too deeply.
    #[error("nested more than {MAX_NESTING} levels deep")]
    TooDeep,
    /// It is not JSON, or contains a number or character that cannot be represented.
    #[error("{0}")]
    Malformed(#[from] serde_json::Error),
}

/// Parses a text.
pub(crate) fn parse(text: &str) -> Result<Value, ParseError> {
    parse_within(text, MAX_NESTING)
}

/// Parses the field set of an object.
pub(crate) fn parse_field_set(text: &str) -> Result<Value, ParseError> {
    parse_within(text, MAX_FIELD_SET_NESTING)
}

fn parse_within(text: &str, most: usize) -> Result<Value, ParseError> {
    let error = match serde_json::from_str(text) {
        Ok(value) => return Ok(value),
        Err(error) => error,
    };
    // The depth is checked only after a failure, because almost no text is that deep.
    match NestingScan::new(text.as_bytes()).levels {
        0..LEVELS_PER_READER => Err(error.into()),
        levels if levels > most => Err(ParseError::TooDeep),
        _ => Ok(read(text, 0)?),
    }
}

/// Parses bytes.
pub(crate) fn parse_slice(bytes: &[u8]) -> Result<Value, ParseError> {
    match std::str::from_utf8(bytes) {
        Ok(text) => parse(text),
        // This error contains the position.
        Err(_) => Ok(serde_json::from_slice(bytes)?),
    }
}

/// Returns whether a text is nested deeper than one deserializer handles.
pub(crate) fn is_deep(text: &[u8]) -> bool {
    NestingScan::new(text).levels >= LEVELS_PER_READER
}

/// Checks that a text parses inside `outer` levels of another value. The grammar of `text` must be valid
/// JSON.
pub(crate) fn check(text: &RawValue, outer: usize) -> Result<(), ParseError> {
    check_within(text, MAX_NESTING.saturating_sub(outer))
}

/// Checks that the field set of an object parses. `text` is JSON by its grammar.
pub(crate) fn check_field_set(text: &RawValue) -> Result<(), ParseError> {
    check_within(text, MAX_FIELD_SET_NESTING)
}

fn check_within(text: &RawValue, most: usize) -> Result<(), ParseError> {
    let scan = NestingScan::new(text.get().as_bytes());
    if scan.levels > most {
        return Err(ParseError::TooDeep);
    }
    if scan.doubtful {
        parse_within(text.get(), most)?;
    }
    Ok(())
}

/// The result of one pass over a text.
struct NestingScan {
    levels: usize,
    /// True if it contains text that the grammar allows and a parser can refuse: half of a surrogate pair,
    /// or a number outside the range of floats.
    doubtful: bool,
}

/// A number of digits before the decimal point that no finite float has.
const MANY_DIGITS: usize = 300;

impl NestingScan {
    fn new(text: &[u8]) -> Self {
        let mut scan = Self {
            levels: 0,
            doubtful: false,
        };
        let (mut level, mut digits, mut position) = (0_usize, 0_usize, 0);
        while let Some(byte) = text.get(position) {
            position += 1;
            if byte.is_ascii_digit() {
                digits += 1;
                scan.doubtful |= digits > MANY_DIGITS;
                continue;
            }
            match byte {
                b'e' | b'E' => scan.doubtful |= digits > 0,
                b'{' | b'[' => {
                    level += 1;
                    scan.levels = scan.levels.max(level);
                }
                b'}' | b']' => level = level.saturating_sub(1),
                b'"' => position = scan.string(text, position),
                _ => {}
            }
            digits = 0;
        }
        scan
    }

    /// Skips a string. Returns its end.
    fn string(&mut self, text: &[u8], mut position: usize) -> usize {
        while let Some(byte) = text.get(position) {
            position += 1;
            match byte {
                b'"' => return position,
                b'\\' => {
                    let escape = text.get(position..).unwrap_or_default();
                    self.doubtful |= matches!(escape, [b'u', b'd' | b'D', ..]);
                    position += 1;
                }
                _ => {}
            }
        }
        position
    }
}

fn read(text: &str, level: usize) -> Result<Value, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_str(text);
    let value = LevelSeed(level).deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Deserializes a value at this level. Values far below get a new deserializer.
#[derive(Clone, Copy)]
struct LevelSeed(usize);

impl<'de> DeserializeSeed<'de> for LevelSeed {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, reader: D) -> Result<Value, D::Error> {
        if self.0 > 0 && self.0.is_multiple_of(LEVELS_PER_READER) {
            let raw = <&RawValue>::deserialize(reader)?;
            // Counts one more level, so that this value does not get another deserializer.
            return read(raw.get(), self.0 + 1).map_err(D::Error::custom);
        }
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for LevelSeed {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        let number = Number::from_f64(value);
        number
            .map(Value::Number)
            .ok_or_else(|| E::custom("number out of range"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Value, A::Error> {
        let mut list = Vec::new();
        while let Some(item) = items.next_element_seed(Self(self.0 + 1))? {
            list.push(item);
        }
        Ok(list.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Value, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key::<String>()? {
            map.insert(key, entries.next_value_seed(Self(self.0 + 1))?);
        }
        Ok(map.into())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn maps(levels: usize) -> String {
        format!("{}1{}", r#"{"a":"#.repeat(levels), "}".repeat(levels))
    }

    fn lists(levels: usize) -> String {
        format!("{}{}", "[".repeat(levels), "]".repeat(levels))
    }

    #[test]
    fn the_bound_is_the_same_for_maps_and_lists() {
        for nested in [maps, lists] {
            for levels in [1, 99, 100, 101, 127, 128, 199, 200, 201, MAX_NESTING] {
                let text = nested(levels);
                let value = parse(&text).unwrap();
                assert_eq!(value.to_string(), text, "{levels}");
            }
            for levels in [MAX_NESTING + 1, 100_000] {
                let refused = parse(&nested(levels)).unwrap_err();
                assert!(matches!(refused, ParseError::TooDeep), "{levels}");
            }
        }
    }

    #[test]
    fn brackets_in_strings_are_not_levels() {
        let text = format!(r#"{{"a\"{}":"\\"}}"#, "[{".repeat(1000));
        assert_eq!(NestingScan::new(text.as_bytes()).levels, 1);
    }

    #[test]
    fn invalid_json_is_an_error() {
        for text in ["", "{", "[1,]", &format!("{}x", "[".repeat(200))] {
            assert!(
                matches!(parse(text), Err(ParseError::Malformed(_))),
                "{text}"
            );
        }
    }

    /// Texts with valid grammar, including some that a parser refuses.
    fn texts() -> impl Strategy<Value = String> {
        let leaf = prop_oneof![
            "-?[1-9][0-9]{0,25}([.][0-9]{1,9})?([eE][+-]?[0-9]{1,4})?",
            r#""([a-z{}\[\]]|\\["\\nt]|\\u[0-9a-fA-F]{4}|\\u[dD][89abAB][0-9a-f]{2})*""#,
            Just("null".to_owned()),
            Just("true".to_owned()),
            Just("9".repeat(400)),
        ];
        leaf.prop_recursive(5, 40, 4, |inner| {
            prop_oneof![
                proptest::collection::vec(inner.clone(), 0..4)
                    .prop_map(|items| format!("[{}]", items.join(","))),
                proptest::collection::vec(("[a-z]", inner), 0..4).prop_map(|entries| {
                    let entries = entries.iter().map(|(key, item)| format!("{key:?}: {item}"));
                    format!("{{{}}}", entries.collect::<Vec<_>>().join(","))
                }),
            ]
        })
    }

    proptest! {
        /// A text passes the check if and only if it parses.
        #[test]
        fn the_check_and_the_reader_agree(text in texts(), around in 0_usize..300) {
            let text = format!("{}{text}{}", "[".repeat(around), "]".repeat(around));
            let raw: &RawValue = serde_json::from_str(&text).unwrap();
            prop_assert_eq!(check(raw, 0).is_ok(), parse(&text).is_ok());
        }

        /// Both parsers return the same value.
        #[test]
        fn deep_values_parse_like_flat_ones(text in texts()) {
            let (deep, shallow) = (read(&text, 0), serde_json::from_str::<Value>(&text));
            prop_assert_eq!(deep.ok(), shallow.ok());
        }
    }
}
