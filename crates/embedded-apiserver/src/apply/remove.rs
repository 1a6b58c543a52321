//! Removes fields and items from an object, like `RemoveItems` of structured-merge-diff.

use serde_json::{Map as Object, Value};

use super::{
    element::Element,
    set::{Node, PathSet},
    shape::{MatchedType, item_key},
};
use crate::schema::{
    Type,
    node::{List, Map, Relation},
};

/// Returns the value without the paths of a set, or null if nothing is left.
pub(super) fn remove(place: Option<Type<'_>>, value: &Value, gone: &PathSet) -> Value {
    let shape = place.and_then(|place| Some((place, MatchedType::select(place, Some(value))?)));
    match shape {
        Some((place, MatchedType::Map(map))) if !map.atomic => from_map(place, map, value, gone),
        Some((place, MatchedType::List(list))) if list.relation != Relation::Atomic => {
            from_list(place, list, value, gone)
        }
        Some((_, MatchedType::Scalar(_))) => value.clone(),
        // Removing a part of an atomic value removes the whole value.
        _ => Value::Null,
    }
}

/// Returns the remaining part of a child, if any.
fn child(node: Option<&Node>, place: Option<Type<'_>>, value: &Value) -> Option<Value> {
    match node {
        Some(node) if node.member => None,
        Some(node) if !node.below.is_empty() => Some(remove(place, value, &node.below)),
        _ => Some(value.clone()),
    }
}

fn from_map(place: Type<'_>, map: &Map, value: &Value, gone: &PathSet) -> Value {
    let mut left = Object::new();
    for (name, field) in value.as_object().into_iter().flatten() {
        let type_of_child = map.child(name).map(|id| place.at(id));
        let node = gone.get(&Element::field(name));
        if let Some(value) = child(node, type_of_child, field) {
            left.insert(name.clone(), value);
        }
    }
    if left.is_empty() {
        return Value::Null;
    }
    Value::Object(left)
}

fn from_list(place: Type<'_>, list: &List, value: &Value, gone: &PathSet) -> Value {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let left: Vec<Value> = items
        .iter()
        .filter_map(|item| {
            let key = item_key(place, list, item).ok();
            let node = key.as_ref().and_then(|key| gone.get(key));
            child(node, Some(place.at(list.items)), item)
        })
        .collect();
    if left.is_empty() {
        return Value::Null;
    }
    Value::Array(left)
}
