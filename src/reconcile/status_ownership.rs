//! Finds the status fields that our manager owns, by the field set that the server keeps. Pure
//! functions.
//!
//! Conditions are identified by their type ([`own_conditions`]), because a list that the CRD declares
//! as atomic has one owner for all entries.

use std::collections::BTreeSet;
use std::hash::Hasher;

use serde_json::{Map, Value};
use twox_hash::XxHash3_64;

use super::conditions;
use crate::model::Object;

/// Returns the field sets under `f:status` of a manager's entries.
pub(super) fn field_sets(object: &Object, manager: &str) -> Vec<Value> {
    object
        .managed_by(manager, Some("status"))
        .filter_map(|entry| entry.value().get_mut("f:status").map(Value::take))
        .collect()
}

/// Returns the types of the conditions that a field set names individually.
pub(super) fn own_conditions(sets: &[Value]) -> BTreeSet<String> {
    let entries = sets
        .iter()
        .filter_map(|set| set["f:conditions"].as_object());
    entries
        .flat_map(Map::keys)
        .filter_map(|key| key_of(key)?.remove("type"))
        .filter_map(|kind| kind.as_str().map(str::to_owned))
        .collect()
}

/// Removes from a status the fields of a field set, except conditions, and the maps and lists that
/// become empty.
pub(super) fn remove_owned(status: &mut Map<String, Value>, set: &Value) {
    for (name, inner) in fields(set).filter(|(name, _)| *name != "conditions") {
        strip_field(status, name, inner);
    }
}

fn strip_field(map: &mut Map<String, Value>, name: &str, set: &Value) {
    let Some(value) = map.get_mut(name) else {
        return;
    };
    let emptied = match value {
        _ if is_leaf(set) => true,
        Value::Object(inner) => {
            for (name, set) in fields(set) {
                strip_field(inner, name, set);
            }
            inner.is_empty()
        }
        Value::Array(items) => {
            items.retain(|item| !names_item(set, item));
            items.is_empty()
        }
        _ => true,
    };
    if emptied {
        map.remove(name);
    }
}

/// Returns whether a set names an item of a list, by its keys or by its value.
fn names_item(set: &Value, item: &Value) -> bool {
    set.as_object().into_iter().flatten().any(|(key, inner)| {
        if let Some(value) = key.strip_prefix("v:") {
            return serde_json::from_str::<Value>(value).is_ok_and(|value| value == *item);
        }
        inner.get(".").is_some()
            && key_of(key).is_some_and(|keys| keys.iter().all(|(key, value)| item[key] == *value))
    })
}

/// Returns the `f:` members of a set.
fn fields(set: &Value) -> impl Iterator<Item = (&str, &Value)> {
    set.as_object()
        .into_iter()
        .flatten()
        .filter_map(|(key, inner)| Some((key.strip_prefix("f:")?, inner)))
}

fn is_leaf(set: &Value) -> bool {
    set.as_object().is_none_or(Map::is_empty)
}

/// Returns the keys of `k:{"type":"Ready"}`.
fn key_of(key: &str) -> Option<Map<String, Value>> {
    serde_json::from_str(key.strip_prefix("k:")?).ok()
}

/// Returns a digest of the status fields that our manager owns. If it changes without a write of ours,
/// another client edited them. `value` is the tree of the object.
pub fn digest(object: &Object, value: &Value, manager: &str) -> u64 {
    let status = &value["status"];
    let mut hasher = XxHash3_64::new();
    let sets = field_sets(object, manager);
    for set in &sets {
        for (name, inner) in fields(set).filter(|(name, _)| *name != "conditions") {
            digest_field(&mut hasher, name, &status[name], inner);
        }
    }
    let named = own_conditions(&sets);
    let conditions = status["conditions"]
        .as_array()
        .map_or(&[][..], Vec::as_slice);
    for entry in conditions {
        let kind = entry["type"].as_str().unwrap_or_default();
        if named.contains(kind) || conditions::is_own_type(kind) {
            hasher.write(entry.to_string().as_bytes());
        }
    }
    hasher.finish()
}

fn digest_field(hasher: &mut XxHash3_64, name: &str, value: &Value, set: &Value) {
    hasher.write(name.as_bytes());
    hasher.write(&[0]);
    match value {
        Value::Object(inner) if !is_leaf(set) => {
            for (name, set) in fields(set) {
                digest_field(hasher, name, inner.get(name).unwrap_or(&Value::Null), set);
            }
        }
        Value::Array(items) if !is_leaf(set) => {
            for item in items.iter().filter(|item| names_item(set, item)) {
                hasher.write(item.to_string().as_bytes());
            }
        }
        value => hasher.write(value.to_string().as_bytes()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gvk;
    use serde_json::json;

    const MANAGER: &str = "rhai-operator/0123";

    fn object(status: &Value, fields: &Value) -> Object {
        let gvk = Gvk::new("g", "v1", "K");
        let whole = json!({
            "metadata": {"name": "x", "managedFields": [
                {"manager": MANAGER, "operation": "Update", "subresource": "status",
                 "fieldsV1": {"f:status": fields}},
            ]},
            "status": status,
        });
        Object::from_value(&gvk, &whole).unwrap()
    }

    fn digested(status: &Value, fields: &Value) -> u64 {
        let object = object(status, fields);
        digest(&object, &object.value(), MANAGER)
    }

    fn stripped(mut status: Value, fields: &Value) -> Value {
        remove_owned(status.as_object_mut().unwrap(), fields);
        status
    }

    #[test]
    fn named_fields_are_removed_and_others_stay() {
        let left = stripped(
            json!({"a": 1, "b": {"mine": 1, "theirs": 2}, "c": {"mine": 1}, "conditions": [1]}),
            &json!({"f:a": {}, "f:b": {"f:mine": {}}, "f:c": {".": {}, "f:mine": {}},
                    "f:conditions": {}, "f:gone": {}}),
        );
        assert_eq!(left, json!({"b": {"theirs": 2}, "conditions": [1]}));
    }

    #[test]
    fn items_go_by_key_and_by_value() {
        let left = stripped(
            json!({"ports": [{"port": 1, "x": 1}, {"port": 2}], "set": ["a", "b"], "atomic": [1]}),
            &json!({"f:ports": {"k:{\"port\":1}": {".": {}, "f:x": {}}}, "f:set": {"v:\"a\"": {}},
                    "f:atomic": {}}),
        );
        assert_eq!(left, json!({"ports": [{"port": 2}], "set": ["b"]}));
    }

    #[test]
    fn conditions_are_named_by_type_only_in_map_lists() {
        let map = json!({"f:conditions": {".": {}, "k:{\"type\":\"Ready\"}": {".": {}}}});
        assert_eq!(own_conditions(&[map]), BTreeSet::from(["Ready".to_owned()]));
        assert!(own_conditions(&[json!({"f:conditions": {}})]).is_empty());
    }

    #[test]
    fn the_digest_sees_an_edit_of_ours_and_none_of_others() {
        let fields = json!({"f:a": {}, "f:b": {"f:mine": {}}, "f:conditions": {}});
        let ready = json!({"type": "Ready", "status": "True"});
        let other = json!({"type": "Else", "status": "True"});
        let of = |status: Value| digested(&status, &fields);
        let base = of(json!({"a": 1, "b": {"mine": 1}, "conditions": [ready]}));
        let foreign =
            json!({"a": 1, "b": {"mine": 1, "x": 2}, "conditions": [other, ready], "z": 0});
        assert_eq!(base, of(foreign));
        for edited in [
            json!({"a": 2, "b": {"mine": 1}, "conditions": [ready]}),
            json!({"a": 1, "b": {"mine": 2}, "conditions": [ready]}),
            json!({"a": 1, "b": {"mine": 1}, "conditions": [other]}),
            json!({}),
        ] {
            assert_ne!(base, of(edited.clone()), "{edited}");
        }
    }

    #[test]
    fn a_field_that_another_manager_took_over_counts_as_edited() {
        let status = json!({"a": 1, "b": 2});
        let before = digested(&status, &json!({"f:a": {}, "f:b": {}}));
        let after = digested(&status, &json!({"f:a": {}}));
        assert_ne!(before, after);
    }
}
