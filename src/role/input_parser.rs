//! Parses the `inputs` of `meta/main.yaml`.

use std::collections::BTreeMap;

use embedded_apiserver::string_checks;
use serde_json::Value;

use super::input::{FORMATS, Input, KINDS, Kind, Pattern, Size};
use super::inputs::invalid_default;
use crate::model::diagnostics::{Fields, Item, Keys, list_of, nearest};

const INPUT: Keys = Keys {
    known: &[
        "type",
        "description",
        "required",
        "default",
        "enum",
        "minimum",
        "maximum",
        "pattern",
        "format",
        "minLength",
        "maxLength",
        "minItems",
        "maxItems",
        "immutable",
        "properties",
        "items",
    ],
    refused: &[],
};

const SCALARS: [Kind; 4] = [Kind::String, Kind::Integer, Kind::Number, Kind::Boolean];

/// Parses a map of inputs. Invalid inputs are reported and left out.
pub(super) fn parse_inputs(item: &Item<'_>) -> BTreeMap<String, Input> {
    parse_fields(item, false)
}

fn parse_fields(item: &Item<'_>, in_array: bool) -> BTreeMap<String, Input> {
    let entries = item.entries().unwrap_or_default();
    let inputs = entries.iter().filter_map(|(key, item)| {
        let input = parse_input(item, in_array)?;
        if input.immutable && !is_cel_name(&key.name) {
            item.error(
                "immutable requires a name of letters, digits and underscores",
                "rename the field, or remove immutable",
            );
        }
        Some((key.name.clone(), input))
    });
    inputs.collect()
}

fn parse_input(item: &Item<'_>, in_array: bool) -> Option<Input> {
    let fields = item.fields(INPUT)?;
    let kind = fields.required("type", None)?.choice(&KINDS)?;
    let flag = |key: &str| fields.get(key).and_then(|item| item.flag());
    let description = fields.get("description").and_then(|item| item.text());
    let mut input = Input {
        kind,
        description: description.unwrap_or_default().to_owned(),
        required: flag("required").unwrap_or(false),
        default: fields.get("default").and_then(|item| fitting(&item, kind)),
        choices: choices(&fields, kind),
        minimum: bound(&fields, "minimum", kind),
        maximum: bound(&fields, "maximum", kind),
        pattern: only_of(&fields, "pattern", kind, &[Kind::String]).and_then(|item| pattern(&item)),
        format: only_of(&fields, "format", kind, &[Kind::String]).and_then(|item| format(&item)),
        size: size(&fields, kind),
        immutable: immutable(&fields, kind, in_array),
        properties: only_of(&fields, "properties", kind, &[Kind::Object])
            .map(|item| parse_fields(&item, in_array))
            .unwrap_or_default(),
        items: only_of(&fields, "items", kind, &[Kind::Array])
            .and_then(|item| parse_input(&item, true))
            .map(Box::new),
    };
    check_bounds(&fields, &input);
    check_default(&fields, &mut input);
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
    let Some(item) = only_of(fields, "enum", kind, &SCALARS) else {
        return Vec::new();
    };
    let items = item.items();
    if items.as_ref().is_some_and(Vec::is_empty) {
        item.error("expected at least one value", "");
    }
    let mut choices = Vec::new();
    for item in items.unwrap_or_default() {
        let Some(choice) = fitting(&item, kind) else {
            continue;
        };
        if choices.contains(&choice) {
            item.error(&format!("duplicate value {choice}"), "remove one of them");
        }
        choices.push(choice);
    }
    choices
}

fn bound(fields: &Fields<'_>, key: &str, kind: Kind) -> Option<f64> {
    only_of(fields, key, kind, &[Kind::Integer, Kind::Number])?.number()
}

fn pattern(item: &Item<'_>) -> Option<Pattern> {
    let source = item.text()?;
    match string_checks::Pattern::compile(source) {
        Ok(regex) => Some(Pattern {
            source: source.to_owned(),
            regex,
        }),
        Err(error) => {
            item.error(&error, "write a regular expression of Go");
            None
        }
    }
}

fn format(item: &Item<'_>) -> Option<&'static str> {
    let text = item.text()?;
    let found = FORMATS.iter().find(|format| **format == text);
    if found.is_none() {
        let hint = nearest(text, &FORMATS).map(|near| format!("did you mean {near:?}?"));
        let message = format!("expected {}, found {text:?}", list_of(&FORMATS, "or"));
        item.error(&message, &hint.unwrap_or_default());
    }
    found.copied()
}

/// Parses `minLength` and `maxLength` of a string, or `minItems` and `maxItems` of an array.
fn size(fields: &Fields<'_>, kind: Kind) -> Size {
    let mut size = Size::default();
    for (least, most, of) in [
        ("minLength", "maxLength", Kind::String),
        ("minItems", "maxItems", Kind::Array),
    ] {
        let count = |key: &str| only_of(fields, key, kind, &[of])?.count(0);
        let bounds = Size {
            least: count(least),
            most: count(most),
        };
        if kind != of {
            continue;
        }
        size = bounds;
        if let (Some(minimum), Some(maximum)) = (size.least, size.most)
            && minimum > maximum
            && let Some(item) = fields.get(most)
        {
            item.error(&format!("{maximum} is less than {least} {minimum}"), "");
        }
        // The fields of a CRD are signed.
        for (key, bound) in [(least, size.least), (most, size.most)] {
            if bound.is_some_and(|bound| i64::try_from(bound).is_err())
                && let Some(item) = fields.get(key)
            {
                item.error("is too large", "");
            }
        }
    }
    size
}

/// Parses `immutable`. It has no effect in the items of a list, because the API server does not correlate
/// old and new items.
fn immutable(fields: &Fields<'_>, kind: Kind, in_array: bool) -> bool {
    let Some(item) = only_of(fields, "immutable", kind, &SCALARS) else {
        return false;
    };
    let immutable = item.flag().unwrap_or(false);
    if immutable && in_array {
        item.error("has no effect in the items of an array", "");
        return false;
    }
    immutable
}

/// Returns true if a rule of a CRD can name the field.
fn is_cel_name(name: &str) -> bool {
    let is_letter = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(is_letter)
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && !name.contains("__")
}

fn check_bounds(fields: &Fields<'_>, input: &Input) {
    let least = input.minimum.unwrap_or(f64::NEG_INFINITY);
    let most = input.maximum.unwrap_or(f64::INFINITY);
    if let Some(item) = fields.get("maximum").filter(|_| least > most) {
        item.error(&format!("{most} is less than the minimum {least}"), "");
    }
}

/// Reports a default that the input itself refuses: the API server refuses the CRD then.
fn check_default(fields: &Fields<'_>, input: &mut Input) {
    let Some(item) = fields.get("default") else {
        return;
    };
    let Some(default) = input.default.take() else {
        return;
    };
    if let Some(violation) = invalid_default(input, &default) {
        item.error(&violation, "");
    } else {
        input.default = Some(default);
    }
}
