//! Selects the old value that a new value is compared with in an update.
//!
//! Values of the same key of an object correlate. Items of a list correlate if the list has keys that
//! identify them (KEP-4008).

use serde_json::Value;

use super::structural::{ListType, Structural};

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

    /// Returns the correlation of an item. Absent if the list has no keys, or if the old list has no item
    /// with the same keys.
    pub(super) fn index(self, index: usize) -> Option<Self> {
        let new = self.new.as_array()?.get(index)?;
        Some(Self {
            new,
            old: same_item(self.schema, self.old, new)?,
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
                        (0..new.len()).all(|at| self.index(at).is_some_and(Self::is_unchanged))
                    } else {
                        new == old
                    }
            }
            (new, old) => new == old,
        }
    }
}

/// Returns the item of the old list that has the same keys as this item.
pub(super) fn same_item<'a>(list: &Structural, old: &'a Value, item: &Value) -> Option<&'a Value> {
    if list.list_type != ListType::Map || !item.is_object() {
        return None;
    }
    let keys = &list.list_map_keys;
    // Defaults are already set, so a key that is missing on both sides is equal.
    let same = |old: &&Value| keys.iter().all(|key| old.get(key) == item.get(key));
    old.as_array()?.iter().find(same)
}
