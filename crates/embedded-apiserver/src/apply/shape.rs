//! Selects the alternative of a type that matches a value, and computes the keys of list items.

use std::sync::Arc;

use serde_json::Value;

use super::element::Element;
use crate::schema::{
    Type,
    node::{List, Map, Relation, Scalar},
};

/// The alternative of a type that matches a value.
#[derive(Clone, Copy)]
pub(super) enum MatchedType<'a> {
    Map(&'a Map),
    Scalar(Scalar),
    List(&'a List),
}

impl<'a> MatchedType<'a> {
    /// Returns the alternative for the value, or the first alternative of the type if none matches. Returns
    /// nothing for a type without alternatives, whose value is atomic.
    pub(super) fn select(place: Type<'a>, value: Option<&Value>) -> Option<Self> {
        let node = place.node();
        let fitting = match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => {
                node.scalar.map(Self::Scalar)
            }
            Some(Value::Array(_)) => node.list.as_ref().map(Self::List),
            Some(Value::Object(_)) => node.map.as_ref().map(Self::Map),
            Some(Value::Null) | None => None,
        };
        let first = || {
            let map = node.map.as_ref().map(Self::Map);
            map.or_else(|| node.scalar.map(Self::Scalar))
                .or_else(|| node.list.as_ref().map(Self::List))
        };
        fitting.or_else(first)
    }

    pub(super) fn is_like(self, other: Self) -> bool {
        std::mem::discriminant(&self) == std::mem::discriminant(&other)
    }
}

/// Returns whether a value is empty, or neither a list nor a map.
pub(super) fn is_blank(value: Option<&Value>) -> bool {
    match value {
        Some(Value::Array(items)) => items.is_empty(),
        Some(Value::Object(fields)) => fields.is_empty(),
        _ => true,
    }
}

/// Returns the path element of an item of a list that is a set or a map.
pub(super) fn item_key(place: Type<'_>, list: &List, item: &Value) -> Result<Element, String> {
    match &list.relation {
        Relation::Keys(keys) if !keys.is_empty() => map_key(place, list, keys, item),
        _ => set_key(item),
    }
}

fn set_key(item: &Value) -> Result<Element, String> {
    Err(match item {
        Value::Object(_) => "associative list without keys has an element that's a map type",
        Value::Array(_) => "not supported: associative list with lists as elements",
        Value::Null => "associative list without keys has an element that's an explicit null",
        _ => return Ok(Element::Item(Arc::new(item.clone()))),
    }
    .to_owned())
}

fn map_key(
    place: Type<'_>,
    list: &List,
    keys: &[Box<str>],
    item: &Value,
) -> Result<Element, String> {
    let fields = match item {
        Value::Object(fields) => fields,
        Value::Null => {
            return Err("associative list with keys may not have a null element".to_owned());
        }
        _ => return Err("associative list with keys may not have non-map elements".to_owned()),
    };
    let mut parts: Vec<(Box<str>, Value)> = Vec::with_capacity(keys.len());
    for key in keys {
        let value = match fields.get(&**key) {
            Some(value) => Some(value.clone()),
            None => default_of(place.at(list.items), key)
                .map_err(|why| format!("couldn't find default value for {key}: {why}"))?,
        };
        // An item without a key field differs from an item with this field, so the element omits the field.
        parts.extend(value.map(|value| (key.clone(), value)));
    }
    if parts.is_empty() {
        let quoted: Vec<String> = keys.iter().map(|key| format!("{key:?}")).collect();
        return Err(format!(
            "associative list with keys has an element that omits all key fields [{}] (and doesn't have default values for any key fields)",
            quoted.join(" ")
        ));
    }
    parts.sort_by(|(one, _), (other, _)| one.cmp(other));
    Ok(Element::Key(parts.into()))
}

fn default_of(item: Type<'_>, key: &str) -> Result<Option<Value>, &'static str> {
    match &item.node().map {
        Some(map) => Ok(map.field(key).and_then(|field| field.default.clone())),
        None => Err("associative list may not have non-map types"),
    }
}
