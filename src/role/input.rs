//! Parses the `inputs` of `meta/main.yaml`, which describe the spec of the custom resource.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::model::diagnostics::{Fields, Item, Keys};

/// A field of the spec, as OpenAPI describes it.
#[derive(Clone, Debug, PartialEq)]
pub struct Input {
    /// The type of its values.
    pub kind: Kind,
    /// The description for users.
    pub description: String,
    /// True if a custom resource must contain it.
    pub required: bool,
    /// The value of a missing field.
    pub default: Option<Value>,
    /// The allowed values; empty allows all.
    pub choices: Vec<Value>,
    /// The minimum of a number.
    pub minimum: Option<f64>,
    /// The maximum of a number.
    pub maximum: Option<f64>,
    /// The fields of an object.
    pub properties: BTreeMap<String, Self>,
    /// The type of the items of an array.
    pub items: Option<Box<Self>>,
}

/// The type of an [`Input`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// Any number.
    Number,
    /// True or false.
    Boolean,
    /// A map.
    Object,
    /// A list.
    Array,
}

const INPUT: Keys = Keys {
    known: &[
        "type",
        "description",
        "required",
        "default",
        "enum",
        "minimum",
        "maximum",
        "properties",
        "items",
    ],
    refused: &[],
};

const KINDS: [(&str, Kind); 6] = [
    ("string", Kind::String),
    ("integer", Kind::Integer),
    ("number", Kind::Number),
    ("boolean", Kind::Boolean),
    ("object", Kind::Object),
    ("array", Kind::Array),
];

impl Kind {
    pub(super) fn fits(self, value: &Value) -> bool {
        match self {
            Self::String => value.is_string(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Boolean => value.is_boolean(),
            Self::Object => value.is_object(),
            Self::Array => value.is_array(),
        }
    }

    fn name(self) -> &'static str {
        let found = KINDS.iter().find(|(_, kind)| *kind == self);
        found.map_or("", |(name, _)| name)
    }
}

/// Parses a map of inputs. Invalid inputs are reported and left out.
pub(super) fn read_all(item: &Item<'_>) -> BTreeMap<String, Input> {
    let entries = item.entries().unwrap_or_default();
    entries
        .iter()
        .filter_map(|(key, item)| Some((key.name.clone(), read(item)?)))
        .collect()
}

fn read(item: &Item<'_>) -> Option<Input> {
    let fields = item.fields(INPUT)?;
    let kind = fields.required("type", None)?.choice(&KINDS)?;
    let input = Input {
        kind,
        description: fields
            .get("description")
            .and_then(|item| item.text())
            .unwrap_or_default()
            .to_owned(),
        required: fields
            .get("required")
            .and_then(|item| item.flag())
            .unwrap_or(false),
        default: fields.get("default").and_then(|item| fitting(&item, kind)),
        choices: choices(&fields, kind),
        minimum: bound(&fields, "minimum", kind),
        maximum: bound(&fields, "maximum", kind),
        properties: only_of(&fields, "properties", kind, &[Kind::Object])
            .map(|item| read_all(&item))
            .unwrap_or_default(),
        items: only_of(&fields, "items", kind, &[Kind::Array])
            .and_then(|item| read(&item))
            .map(Box::new),
    };
    check_bounds(&fields, &input);
    Some(input)
}

/// Returns the item of a key; reports an error if the type does not have it.
fn only_of<'a>(fields: &Fields<'a>, key: &str, kind: Kind, kinds: &[Kind]) -> Option<Item<'a>> {
    let item = fields.get(key)?;
    if !kinds.contains(&kind) {
        item.error(&format!("has no effect for the type {}", kind.name()), "");
        return None;
    }
    Some(item)
}

fn fitting(item: &Item<'_>, kind: Kind) -> Option<Value> {
    let value = item.value();
    if !kind.fits(&value) {
        item.error(
            &format!(
                "expected a value of the type {}, found {value}",
                kind.name()
            ),
            "",
        );
        return None;
    }
    Some(value)
}

fn choices(fields: &Fields<'_>, kind: Kind) -> Vec<Value> {
    let Some(item) = fields.get("enum") else {
        return Vec::new();
    };
    let items = item.items();
    if items.as_ref().is_some_and(Vec::is_empty) {
        item.error("expected at least one value", "");
    }
    let items = items.unwrap_or_default();
    items
        .iter()
        .filter_map(|item| fitting(item, kind))
        .collect()
}

fn bound(fields: &Fields<'_>, key: &str, kind: Kind) -> Option<f64> {
    only_of(fields, key, kind, &[Kind::Integer, Kind::Number])?.number()
}

fn check_bounds(fields: &Fields<'_>, input: &Input) {
    let least = input.minimum.unwrap_or(f64::NEG_INFINITY);
    let most = input.maximum.unwrap_or(f64::INFINITY);
    let Some(item) = fields.get("maximum").filter(|_| least > most) else {
        check_default(fields, input, least, most);
        return;
    };
    item.error(&format!("{most} is less than the minimum {least}"), "");
}

fn check_default(fields: &Fields<'_>, input: &Input, least: f64, most: f64) {
    let (Some(item), Some(default)) = (fields.get("default"), &input.default) else {
        return;
    };
    if default
        .as_f64()
        .is_some_and(|number| number < least || number > most)
    {
        item.error(&format!("{default} is not between minimum and maximum"), "");
    }
    if !input.choices.is_empty() && !input.choices.contains(default) {
        item.error(&format!("{default} is not one of enum"), "");
    }
}
