//! The paths of an object, like `ToFieldSet` of structured-merge-diff.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    element::Element,
    set::{Node, PathSet},
    shape::{MatchedType, item_key},
};
use crate::schema::{
    Type,
    node::{List, Map, Relation},
};

/// Returns the paths of all leaves and items of a value.
pub(super) fn fields(place: Type<'_>, value: &Value) -> PathSet {
    node(Some(place), value).below
}

fn node(place: Option<Type<'_>>, value: &Value) -> Node {
    let leaf = Node {
        member: true,
        below: PathSet::default(),
    };
    let Some(place) = place else {
        return leaf;
    };
    match MatchedType::select(place, Some(value)) {
        None | Some(MatchedType::Scalar(_)) => leaf,
        Some(MatchedType::Map(map)) if map.atomic => leaf,
        Some(MatchedType::List(list)) if list.relation == Relation::Atomic => leaf,
        Some(MatchedType::Map(map)) => of_map(place, map, value),
        Some(MatchedType::List(list)) => of_list(place, list, value),
    }
}

fn of_map(place: Type<'_>, map: &Map, value: &Value) -> Node {
    let mut below = PathSet::default();
    for (name, field) in value.as_object().into_iter().flatten() {
        let mut child = node(map.child(name).map(|id| place.at(id)), field);
        let is_empty = field.is_null() || field.as_object().is_some_and(serde_json::Map::is_empty);
        child.member |= is_empty || map.field(name).is_none();
        if !child.is_empty() {
            *below.entry(Element::field(name)) = child;
        }
    }
    Node {
        member: false,
        below,
    }
}

fn of_list(place: Type<'_>, list: &List, value: &Value) -> Node {
    let items = value.as_array().map(Vec::as_slice).unwrap_or_default();
    let keyed: Vec<(Element, &Value)> = items
        .iter()
        .filter_map(|item| Some((item_key(place, list, item).ok()?, item)))
        .collect();
    let (mut seen, mut twice) = (BTreeSet::new(), BTreeSet::new());
    for (key, _) in &keyed {
        if !seen.insert(key) {
            twice.insert(key);
        }
    }
    let mut below = PathSet::default();
    for (key, item) in &keyed {
        let mut child = Node::default();
        // A manager owns duplicate items as one item, without the fields in it.
        if !twice.contains(key) {
            child = node(Some(place.at(list.items)), item);
            if matches!(key, Element::Item(_)) {
                child.below = PathSet::default();
            }
        }
        child.member = true;
        *below.entry(key.clone()) = child;
    }
    Node {
        member: false,
        below,
    }
}
