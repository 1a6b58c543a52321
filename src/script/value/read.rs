//! Converts JSON to script values.

use std::fmt;

use rhai::{Array, Dynamic, Identifier, Map};
use serde::de::{DeserializeSeed, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::Value;

use crate::model::json;

/// Converts a JSON value to a script value.
pub fn to_dynamic(value: &Value) -> Dynamic {
    match value {
        Value::Null => Dynamic::UNIT,
        Value::Bool(value) => (*value).into(),
        Value::Number(number) => match number.as_i64() {
            Some(int) => int.into(),
            None => number.as_f64().unwrap_or(f64::NAN).into(),
        },
        Value::String(text) => text.as_str().into(),
        Value::Array(values) => values.iter().map(to_dynamic).collect::<Array>().into(),
        Value::Object(entries) => {
            let entries = entries
                .iter()
                .map(|(key, value)| (key.as_str().into(), to_dynamic(value)));
            entries.collect::<Map>().into()
        }
    }
}

/// Parses JSON text to a script value. Creates a JSON value in between only if the text is nested deeply.
pub fn from_json(text: &[u8]) -> Result<Dynamic, json::ParseError> {
    match read(text) {
        Ok(value) => Ok(value),
        Err(_) if json::is_deep(text) => json::parse_slice(text).map(|value| to_dynamic(&value)),
        Err(error) => Err(error.into()),
    }
}

fn read(text: &[u8]) -> Result<Dynamic, serde_json::Error> {
    let mut reader = serde_json::Deserializer::from_slice(text);
    let value = DynamicSeed.deserialize(&mut reader)?;
    reader.end()?;
    Ok(value)
}

/// Deserializes any JSON value.
struct DynamicSeed;

impl<'de> DeserializeSeed<'de> for DynamicSeed {
    type Value = Dynamic;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Dynamic, D::Error> {
        reader.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for DynamicSeed {
    type Value = Dynamic;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("JSON")
    }

    fn visit_unit<E>(self) -> Result<Dynamic, E> {
        Ok(Dynamic::UNIT)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Dynamic, E> {
        Ok(value.into())
    }

    fn visit_i64<E>(self, value: i64) -> Result<Dynamic, E> {
        Ok(value.into())
    }

    #[expect(
        clippy::cast_precision_loss,
        reason = "what fits no integer is a float"
    )]
    fn visit_u64<E>(self, value: u64) -> Result<Dynamic, E> {
        Ok(i64::try_from(value).map_or_else(|_| (value as f64).into(), Dynamic::from))
    }

    fn visit_f64<E>(self, value: f64) -> Result<Dynamic, E> {
        Ok(value.into())
    }

    fn visit_str<E>(self, value: &str) -> Result<Dynamic, E> {
        Ok(value.into())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Dynamic, A::Error> {
        let mut array = Array::with_capacity(items.size_hint().unwrap_or(0).min(1024));
        while let Some(item) = items.next_element_seed(Self)? {
            checkpoint::tick().map_err(A::Error::custom)?;
            array.push(item);
        }
        Ok(array.into())
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Dynamic, A::Error> {
        let mut map = Map::new();
        while let Some(key) = entries.next_key_seed(Key)? {
            let value = entries.next_value_seed(Self)?;
            checkpoint::tick().map_err(A::Error::custom)?;
            if let Some(_earlier) = map.insert(key, value) {
                return Err(A::Error::custom("a key occurs twice"));
            }
        }
        Ok(map.into())
    }
}

/// Deserializes a key.
struct Key;

impl<'de> DeserializeSeed<'de> for Key {
    type Value = Identifier;

    fn deserialize<D: serde::Deserializer<'de>>(self, reader: D) -> Result<Identifier, D::Error> {
        reader.deserialize_str(self)
    }
}

impl Visitor<'_> for Key {
    type Value = Identifier;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a key")
    }

    fn visit_str<E>(self, value: &str) -> Result<Identifier, E> {
        Ok(value.into())
    }
}
