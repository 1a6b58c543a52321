//! Random values: pieces of the list put together, and any characters at all.

use rand::rngs::StdRng;
use rand::{Rng, RngExt};
use serde_json::{Map, Value};

use super::values::{self, Hostile};

/// Random values are at most this deep; the list has those that are deeper.
const DEPTH: u32 = 5;

/// A source of values that depends on its seed only.
pub(crate) struct Random {
    rng: StdRng,
    pieces: Vec<Value>,
}

impl Random {
    pub(crate) fn new(rng: StdRng) -> Self {
        let small = |value: &Value| value.as_str().is_none_or(|text| text.len() < 1_000);
        let all = values::all().into_iter().map(|hostile| hostile.value);
        let pieces = all.filter(|value| is_shallow(value) && small(value));
        Self {
            rng,
            pieces: pieces.collect(),
        }
    }

    /// The next value, named after its number.
    pub(crate) fn hostile(&mut self, number: usize) -> Hostile {
        Hostile {
            name: format!("random-{number}"),
            value: self.value(DEPTH),
        }
    }

    fn value(&mut self, depth: u32) -> Value {
        let kinds = if depth == 0 { 4 } else { 6 };
        match self.rng.random_range(0..kinds) {
            0 => self.piece(),
            1 => self.joined().into(),
            2 => self.characters().into(),
            3 => self.number(),
            4 => {
                let count = self.rng.random_range(0..5);
                (0..count).map(|_| self.value(depth - 1)).collect()
            }
            _ => {
                let count = self.rng.random_range(0..5);
                let members = (0..count).map(|_| (self.key(), self.value(depth - 1)));
                Value::Object(members.collect::<Map<_, _>>())
            }
        }
    }

    fn piece(&mut self) -> Value {
        self.pieces[self.rng.random_range(0..self.pieces.len())].clone()
    }

    /// Texts of the list, one behind the other.
    fn joined(&mut self) -> String {
        let count = self.rng.random_range(1..4);
        let texts = (0..count).map(|_| match self.piece() {
            Value::String(text) => text,
            other => other.to_string(),
        });
        texts
            .collect::<Vec<_>>()
            .join(["", " ", "\n", "\n  ", "'", "\""][count])
    }

    fn characters(&mut self) -> String {
        let count = self.rng.random_range(0..40);
        let characters = (0..count).filter_map(|_| {
            let most = [0x20, 0x7f, 0x80, 0x2100, 0x11_0000][self.rng.random_range(0..5)];
            char::from_u32(self.rng.random_range(0..most))
        });
        characters.collect()
    }

    fn key(&mut self) -> String {
        match self.rng.random_range(0..3) {
            0 => [
                "name", "value", "size", "op", "path", "text", "a", "metadata",
            ][self.rng.random_range(0..8)]
            .to_owned(),
            1 => self.joined(),
            _ => self.characters(),
        }
    }

    fn number(&mut self) -> Value {
        if self.rng.random_bool(0.5) {
            return self.rng.next_u64().cast_signed().into();
        }
        let float = f64::from_bits(self.rng.next_u64());
        // NaN and infinity become null.
        Value::from(float)
    }
}

fn is_shallow(value: &Value) -> bool {
    fn depth(value: &Value) -> usize {
        let inner = match value {
            Value::Array(items) => items.iter().map(depth).max(),
            Value::Object(members) => members.values().map(depth).max(),
            _ => return 0,
        };
        1 + inner.unwrap_or(0)
    }
    let size = match value {
        Value::Array(items) => items.len(),
        Value::Object(members) => members.len(),
        _ => 0,
    };
    size < 100 && depth(value) < 10
}
