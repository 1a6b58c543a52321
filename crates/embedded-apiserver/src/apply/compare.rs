//! Compares two objects, like `Compare` of structured-merge-diff.

use std::collections::BTreeMap;

use serde_json::{Map as Object, Value};

use super::{
    element::{Element, same},
    set::PathSet,
    shape::{MatchedType, is_blank, item_key},
};
use crate::schema::{
    Type,
    node::{List, Map, Relation},
};

/// The paths that a write added, changed and removed. Each path is in at most one of the sets.
#[derive(Debug, Default)]
pub(super) struct Comparison {
    pub added: PathSet,
    pub modified: PathSet,
    pub removed: PathSet,
}

impl Comparison {
    /// Compares two objects of one type.
    pub(super) fn compare(place: Type<'_>, old: &Value, new: &Value) -> Self {
        let mut walk = Comparer::default();
        walk.compare(Some(place), Some(old), Some(new));
        walk.found
    }

    /// Returns Returns the fields that were added or changed.
    pub(super) fn touched(&self) -> PathSet {
        self.modified.union(&self.added)
    }

    /// Removes paths and all paths below them.
    pub(super) fn without(self, ignored: &PathSet) -> Self {
        Self {
            added: self.added.without(ignored),
            modified: self.modified.without(ignored),
            removed: self.removed.without(ignored),
        }
    }
}

#[derive(Default)]
struct Comparer {
    path: Vec<Element>,
    found: Comparison,
}

impl Comparer {
    fn compare(&mut self, place: Option<Type<'_>>, old: Option<&Value>, new: Option<&Value>) {
        let shape = |value| place.and_then(|place| MatchedType::select(place, value));
        let first = match (shape(old), shape(new)) {
            (Some(one), Some(other)) if old.is_some() && new.is_some() && !one.is_like(other) => {
                self.as_shape(place, Some(one), old, new);
                Some(other)
            }
            (one, other) => {
                if new.is_none() {
                    one
                } else {
                    other
                }
            }
        };
        let was_leaf = self.as_shape(place, first, old, new);
        if !was_leaf {
            self.presence(old, new);
        }
    }

    fn presence(&mut self, old: Option<&Value>, new: Option<&Value>) {
        if old.is_none() {
            self.found.added.insert(&self.path);
        } else if new.is_none() {
            self.found.removed.insert(&self.path);
        }
    }

    fn leaf(&mut self, old: Option<&Value>, new: Option<&Value>) {
        match (old, new) {
            (Some(old), Some(new)) if !same(old, new) => self.found.modified.insert(&self.path),
            (Some(_), Some(_)) => {}
            _ => self.presence(old, new),
        }
    }

    /// Compares two values with one shape. Returns whether the value is a leaf.
    fn as_shape(
        &mut self,
        place: Option<Type<'_>>,
        shape: Option<MatchedType<'_>>,
        old: Option<&Value>,
        new: Option<&Value>,
    ) -> bool {
        match (place, shape) {
            (Some(place), Some(MatchedType::Map(map)))
                if !(map.atomic || no_map(old) && no_map(new)) =>
            {
                self.maps(place, map, as_map(old), as_map(new));
                false
            }
            (Some(place), Some(MatchedType::List(list)))
                if list.relation != Relation::Atomic && !(no_list(old) && no_list(new)) =>
            {
                self.lists(place, list, old, new);
                false
            }
            _ => {
                self.leaf(old, new);
                true
            }
        }
    }

    fn below(
        &mut self,
        step: Element,
        place: Option<Type<'_>>,
        old: Option<&Value>,
        new: Option<&Value>,
    ) {
        self.path.push(step);
        self.compare(place, old, new);
        self.path.pop();
    }

    fn maps(
        &mut self,
        place: Type<'_>,
        map: &Map,
        old: Option<&Object<String, Value>>,
        new: Option<&Object<String, Value>>,
    ) {
        let child = |name: &str| map.child(name).map(|id| place.at(id));
        for (name, value) in old.into_iter().flatten() {
            let other = new.and_then(|map| map.get(name));
            if other != Some(value) {
                self.below(Element::field(name), child(name), Some(value), other);
            }
        }
        for (name, value) in new.into_iter().flatten() {
            if !old.is_some_and(|map| map.contains_key(name)) {
                self.below(Element::field(name), child(name), None, Some(value));
            }
        }
    }

    fn lists(&mut self, place: Type<'_>, list: &List, old: Option<&Value>, new: Option<&Value>) {
        let mut items: BTreeMap<Element, (Vec<&Value>, Vec<&Value>)> = BTreeMap::new();
        for item in old.and_then(Value::as_array).into_iter().flatten() {
            if let Ok(key) = item_key(place, list, item) {
                items.entry(key).or_default().0.push(item);
            }
        }
        for item in new.and_then(Value::as_array).into_iter().flatten() {
            if let Ok(key) = item_key(place, list, item) {
                items.entry(key).or_default().1.push(item);
            }
        }
        let place = Some(place.at(list.items));
        for (key, (old, new)) in items {
            match (old.as_slice(), new.as_slice()) {
                ([] | [_], [] | [_]) => {
                    self.below(key, place, old.first().copied(), new.first().copied());
                }
                ([_, _, ..], [_, _, ..]) => {
                    let equal =
                        old.len() == new.len() && old.iter().zip(&new).all(|(a, b)| same(a, b));
                    if !equal {
                        self.mark(key, |found| &mut found.modified);
                    }
                }
                // Managers own duplicate items as a single item without fields. The remaining item is owned
                // by its fields.
                ([_, _, ..], _) => {
                    if let Some(item) = new.first() {
                        self.below(key.clone(), place, None, Some(item));
                    }
                    self.mark(key, |found| &mut found.removed);
                }
                _ => {
                    if let Some(item) = old.first() {
                        self.below(key.clone(), place, Some(item), None);
                    }
                    self.mark(key, |found| &mut found.added);
                }
            }
        }
    }

    fn mark(&mut self, step: Element, set: impl Fn(&mut Comparison) -> &mut PathSet) {
        self.path.push(step);
        set(&mut self.found).insert(&self.path);
        self.path.pop();
    }
}

fn as_map(value: Option<&Value>) -> Option<&Object<String, Value>> {
    value.and_then(Value::as_object)
}

fn no_map(value: Option<&Value>) -> bool {
    !value.is_some_and(Value::is_object) || is_blank(value)
}

fn no_list(value: Option<&Value>) -> bool {
    !value.is_some_and(Value::is_array) || is_blank(value)
}
