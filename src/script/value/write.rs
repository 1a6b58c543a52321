//! Converts script values to JSON.

use std::fmt::Write as _;

use rhai::Dynamic;
use serde_json::Value;

use super::error::Error;
use crate::model::json;

/// The maximum size of the JSON of a value: four times the largest text, because escapes make it longer.
const MAX_BYTES: usize = 64 << 20;

/// The largest whole number up to which a float is exact: 2^53.
const EXACT: f64 = 9_007_199_254_740_992.0;

/// Converts a script value to a JSON value.
pub fn to_value(value: &Dynamic) -> Result<Value, Error> {
    let mut text = Vec::new();
    write_json(value, &mut text)?;
    json::parse_slice(&text).map_err(|error| Error {
        path: "value".to_owned(),
        problem: error.to_string(),
    })
}

/// Writes a script value as compact JSON with sorted keys. Equal values result in equal bytes.
pub fn write_json(value: &Dynamic, out: &mut Vec<u8>) -> Result<(), Error> {
    let mut writer = Writer {
        out,
        path: Vec::new(),
    };
    writer.value(value).map_err(|problem| Error {
        path: writer.path_text(),
        problem,
    })
}

enum Step {
    Key(String),
    Index(usize),
}

struct Writer<'a> {
    out: &'a mut Vec<u8>,
    /// The path to a value that cannot be written, innermost first; empty before an error.
    path: Vec<Step>,
}

impl Writer<'_> {
    fn value(&mut self, value: &Dynamic) -> Result<(), String> {
        self.nested(value, 0)
    }

    fn nested(&mut self, value: &Dynamic, depth: usize) -> Result<(), String> {
        if depth > json::MAX_NESTING {
            return Err(format!(
                "nested more than {} levels deep",
                json::MAX_NESTING
            ));
        }
        checkpoint::tick().map_err(|interrupted| interrupted.to_string())?;
        if self.out.len() > MAX_BYTES {
            return Err(format!("more than {} MiB as JSON", MAX_BYTES >> 20));
        }
        if value.is_shared() {
            return match value.read_lock::<Dynamic>() {
                Some(inner) => self.nested(&inner, depth),
                None => Err("a variable that is in use".to_owned()),
            };
        }
        if let Ok(text) = value.as_immutable_string_ref() {
            return self.scalar(text.as_str());
        }
        if let Ok(map) = value.as_map_ref() {
            return self.map(&map, depth);
        }
        if let Ok(int) = value.as_int() {
            return self.scalar(&int);
        }
        if let Ok(array) = value.as_array_ref() {
            return self.array(array.iter(), depth);
        }
        if let Ok(flag) = value.as_bool() {
            return self.scalar(&flag);
        }
        if value.is_unit() {
            return self.scalar(&());
        }
        if let Ok(float) = value.as_float() {
            return self.float(float);
        }
        if let Ok(letter) = value.as_char() {
            return self.scalar(&letter);
        }
        Err(refusal(value))
    }

    fn scalar<T: serde::Serialize + ?Sized>(&mut self, value: &T) -> Result<(), String> {
        serde_json::to_writer(&mut *self.out, value).map_err(|error| error.to_string())
    }

    #[expect(
        clippy::cast_possible_truncation,
        reason = "the float is whole and small enough"
    )]
    fn float(&mut self, value: f64) -> Result<(), String> {
        if !value.is_finite() {
            return Err(format!("JSON cannot represent the number {value}"));
        }
        if value.fract() == 0.0 && value.abs() <= EXACT {
            return self.scalar(&(value as i64));
        }
        self.scalar(&value)
    }

    fn array<'v>(
        &mut self,
        items: impl Iterator<Item = &'v Dynamic>,
        depth: usize,
    ) -> Result<(), String> {
        self.out.push(b'[');
        for (index, item) in items.enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.nested(item, depth + 1)
                .inspect_err(|_| self.path.push(Step::Index(index)))?;
        }
        self.out.push(b']');
        Ok(())
    }

    /// Writes a map, whose entries are already sorted.
    fn map(&mut self, map: &rhai::Map, depth: usize) -> Result<(), String> {
        self.out.push(b'{');
        for (index, (key, item)) in map.iter().enumerate() {
            if index > 0 {
                self.out.push(b',');
            }
            self.scalar(key.as_str())?;
            self.out.push(b':');
            self.nested(item, depth + 1)
                .inspect_err(|_| self.path.push(Step::Key(key.to_string())))?;
        }
        self.out.push(b'}');
        Ok(())
    }

    /// Returns the path of the value as text: `spec.ports[0]`.
    fn path_text(&self) -> String {
        let mut place = String::new();
        for step in self.path.iter().rev() {
            match step {
                Step::Key(key) if place.is_empty() => place.push_str(key),
                Step::Key(key) => {
                    place.push('.');
                    place.push_str(key);
                }
                // Writing to a string cannot fail.
                Step::Index(index) => drop(write!(place, "[{index}]")),
            }
        }
        if place.is_empty() {
            "value".to_owned()
        } else {
            place
        }
    }
}

fn refusal(value: &Dynamic) -> String {
    if value.is_fnptr() {
        "a function cannot be written as JSON".to_owned()
    } else if value.is_blob() {
        "bytes cannot be written as JSON: base64_encode them".to_owned()
    } else {
        format!(
            "a value of type {} cannot be written as JSON",
            value.type_name()
        )
    }
}
