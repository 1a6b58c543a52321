//! Selects the old value that a new value is compared with in an update.
//!
//! Values of the same key of an object correlate. Items of a list correlate if the list has keys that
//! identify them (KEP-4008).

use std::collections::HashMap;

use serde_json::Value;

use super::structural::{ListType, Structural};

/// The maximum length of a list that is searched item by item.
const SHORT: usize = 16;

/// A value, and the old value that it correlates with.
#[derive(Debug, Clone, Copy)]
pub(super) struct Correlation<'a> {
    new: &'a Value,
    old: &'a Value,
    schema: &'a Structural,
}

impl<'a> Correlation<'a> {
    pub(super) fn new(new: &'a Value, old: &'a Value, schema: &'a Structural) -> Self {
        Self { new, old, schema }
    }

    /// Returns the value of a key, if the old state has one.
    pub(super) fn key(self, key: &str) -> Option<Self> {
        Some(Self {
            new: self.new.as_object()?.get(key)?,
            old: self.old.as_object()?.get(key)?,
            schema: self.schema.of_key(key)?,
        })
    }

    /// Returns the items of the old list. Absent if they have no keys.
    pub(super) fn items(self) -> Option<OldItems<'a>> {
        OldItems::new(self.schema, self.old)
    }

    /// Returns the correlation of an item. Absent if the old list has no item with the same keys.
    pub(super) fn item(self, index: usize, old: &OldItems<'a>) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        Some(Self {
            new,
            old: old.find(new)?,
            schema: self.schema.items.as_deref()?,
        })
    }

    /// Returns whether nothing changed. Lists without keys are compared as a whole.
    pub(super) fn is_unchanged(self) -> bool {
        match (self.new, self.old) {
            (Value::Object(new), Value::Object(old)) => {
                new.len() == old.len()
                    && new
                        .keys()
                        .all(|key| self.key(key).is_some_and(Self::is_unchanged))
            }
            (Value::Array(new), Value::Array(old)) => {
                let keyed = self.schema.list_type == ListType::Map;
                new.len() == old.len()
                    && if keyed {
                        self.items().is_some_and(|items| {
                            let item = |at| self.item(at, &items);
                            (0..new.len()).all(|at| item(at).is_some_and(Self::is_unchanged))
                        })
                    } else {
                        new == old
                    }
            }
            (new, old) => new == old,
        }
    }
}

/// The items of an old list, whose keys identify them.
#[derive(Debug)]
pub(super) struct OldItems<'a> {
    keys: &'a [String],
    items: &'a [Value],
    /// Absent for a short list.
    by_keys: Option<HashMap<String, &'a Value>>,
}

impl<'a> OldItems<'a> {
    /// Returns the items of a list. Absent if the list has no keys.
    pub(super) fn new(schema: &'a Structural, old: &'a Value) -> Option<Self> {
        if schema.list_type != ListType::Map {
            return None;
        }
        let items = old.as_array()?;
        let keys = &schema.list_map_keys;
        let by_keys = (items.len() > SHORT).then(|| {
            let mut index = HashMap::with_capacity(items.len());
            for item in items {
                index.entry(joined(keys, item)).or_insert(item);
            }
            index
        });
        Some(Self {
            keys,
            items,
            by_keys,
        })
    }

    /// Returns the item that has the same keys as this item.
    pub(super) fn find(&self, item: &Value) -> Option<&'a Value> {
        if !item.is_object() {
            return None;
        }
        if let Some(index) = &self.by_keys {
            return index.get(&joined(self.keys, item)).copied();
        }
        // Defaults are already set, so a key that is missing on both sides is equal.
        let same = |old: &&Value| self.keys.iter().all(|key| old.get(key) == item.get(key));
        self.items.iter().find(same)
    }
}

/// Returns the values of the keys as one text.
fn joined(keys: &[String], item: &Value) -> String {
    use std::fmt::Write as _;
    let mut text = String::new();
    for key in keys {
        match item.get(key) {
            Some(value) => _ = write!(text, "{value},"),
            None => text.push(','),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn short_and_long_lists_find_the_item_with_the_same_keys() {
        let schema = Structural::read(&json!({
            "type": "array", "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["a", "b"],
            "items": {"type": "object"},
        }));
        for length in [SHORT - 1, SHORT, 100_000] {
            let item = |number: usize| json!({"a": number.to_string(), "b": 1, "c": number});
            let mut list: Vec<Value> = (0..length).map(item).collect();
            list.push(json!({"b": 7}));
            let list = Value::Array(list);
            let items = OldItems::new(&schema, &list).unwrap();
            for number in 0..length {
                let found = items.find(&json!({"a": number.to_string(), "b": 1}));
                assert_eq!(found, Some(&item(number)));
            }
            assert_eq!(items.find(&json!({"b": 7})), Some(&json!({"b": 7})));
            assert_eq!(items.find(&json!({"a": null, "b": 7})), None);
            assert_eq!(items.find(&json!({"a": 1, "b": 1})), None);
        }
        let set = Structural::read(&json!({"type": "array", "x-kubernetes-list-type": "set"}));
        assert!(OldItems::new(&set, &json!([])).is_none());
    }
}
