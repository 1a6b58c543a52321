//! Merges a configuration into an object, like `Merge` of structured-merge-diff.
//!
//! Merging removes nothing. A leaf gets the configuration's value. List items of the configuration come in
//! its order. All other items keep their positions.

use std::collections::{BTreeMap, BTreeSet, VecDeque};

use serde_json::{Map as Object, Value};

use super::{
    element::Element,
    shape::{MatchedType, is_blank, item_key},
};
use crate::schema::{
    Type,
    node::{List, Map, Relation},
};

/// Returns the merged value, or nothing if it is empty.
pub(super) fn merge(
    place: Option<Type<'_>>,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Option<Value> {
    let leaf = || config.or(live).cloned();
    let Some(place) = place else {
        return leaf();
    };
    // Without a configuration, the shape depends on the live value.
    let shape = MatchedType::select(place, config.or(live));
    match shape {
        None | Some(MatchedType::Scalar(_)) => leaf(),
        Some(MatchedType::Map(map)) => {
            let (live, config) = (as_map(live), as_map(config));
            if map.atomic || live.is_none() && config.is_none() {
                return leaf();
            }
            merge_maps(place, map, live, config)
        }
        Some(MatchedType::List(list)) => {
            if list.relation == Relation::Atomic || is_blank_list(live) && is_blank_list(config) {
                return leaf();
            }
            merge_lists(place, list, live, config)
        }
    }
}

fn as_map(value: Option<&Value>) -> Option<&Object<String, Value>> {
    let map = value?.as_object()?;
    (!map.is_empty()).then_some(map)
}

fn is_blank_list(value: Option<&Value>) -> bool {
    !value.is_some_and(Value::is_array) || is_blank(value)
}

fn merge_maps(
    place: Type<'_>,
    map: &Map,
    live: Option<&Object<String, Value>>,
    config: Option<&Object<String, Value>>,
) -> Option<Value> {
    let mut merged = Object::new();
    let mut put = |name: &String, live: Option<&Value>, config: Option<&Value>| {
        let child = map.child(name).map(|id| place.at(id));
        if let Some(value) = merge(child, live, config) {
            merged.insert(name.clone(), value);
        }
    };
    for (name, value) in live.into_iter().flatten() {
        put(name, Some(value), config.and_then(|map| map.get(name)));
    }
    for (name, value) in config.into_iter().flatten() {
        if !live.is_some_and(|map| map.contains_key(name)) {
            put(name, None, Some(value));
        }
    }
    (!merged.is_empty()).then_some(Value::Object(merged))
}

/// The items of a list with their keys.
struct Items<'a> {
    keyed: Vec<(Element, &'a Value)>,
    /// The item to merge for each key, or null for a duplicate item.
    by_key: BTreeMap<Element, &'a Value>,
}

impl<'a> Items<'a> {
    fn new(place: Type<'_>, list: &List, value: Option<&'a Value>) -> Self {
        let items = value.and_then(Value::as_array).map(Vec::as_slice);
        let keyed: Vec<(Element, &'a Value)> = items
            .unwrap_or_default()
            .iter()
            .filter_map(|item| Some((item_key(place, list, item).ok()?, item)))
            .collect();
        let mut by_key = BTreeMap::new();
        for (key, item) in &keyed {
            by_key
                .entry(key.clone())
                .and_modify(|known| *known = &Value::Null)
                .or_insert(*item);
        }
        Self { keyed, by_key }
    }

    fn has(&self, key: &Element) -> bool {
        self.by_key.contains_key(key)
    }
}

fn merge_lists(
    place: Type<'_>,
    list: &List,
    live: Option<&Value>,
    config: Option<&Value>,
) -> Option<Value> {
    let (left, right) = (
        Items::new(place, list, live),
        Items::new(place, list, config),
    );
    let item = |live: Option<&Value>, config: Option<&Value>| {
        merge(Some(place.at(list.items)), live, config)
    };
    let both = |key: &Element| {
        item(
            left.by_key.get(key).copied(),
            right.by_key.get(key).copied(),
        )
    };
    // `shared` contains the items that both lists have, in the order of the configuration. `due` is the next
    // one.
    let mut shared: VecDeque<&Element> = right.keyed.iter().map(|(key, _)| key).collect();
    shared.retain(|key| left.has(key));
    let mut due = shared.pop_front();
    let mut done = BTreeSet::new();
    let mut merged = Vec::with_capacity(left.keyed.len().max(right.keyed.len()));
    let (mut l, mut r) = (0, 0);
    while l < left.keyed.len() || r < right.keyed.len() {
        if let (Some((ours, _)), Some((theirs, _))) = (left.keyed.get(l), right.keyed.get(r)) {
            if ours == theirs {
                done.insert(ours);
                merged.extend(both(ours));
                (l, r) = (l + 1, r + 1);
                due = shared.pop_front();
                continue;
            }
            if right.has(ours) && due.is_some_and(|due| due != ours) {
                l += 1;
                continue;
            }
        }
        if let Some((ours, value)) = left.keyed.get(l) {
            if !right.has(ours) {
                merged.extend(item(Some(value), None));
                l += 1;
                continue;
            }
            if done.contains(ours) {
                l += 1;
            }
        }
        if let Some((theirs, _)) = right.keyed.get(r) {
            done.insert(theirs);
            merged.extend(both(theirs));
            r += 1;
            if due == Some(theirs) {
                due = shared.pop_front();
            }
        }
    }
    (!merged.is_empty()).then_some(Value::Array(merged))
}
