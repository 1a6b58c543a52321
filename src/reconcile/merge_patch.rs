//! JSON merge patches (RFC 7386) for statuses. Pure functions.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

/// Applies a patch to a map: maps merge deeply, null removes, other values replace.
pub(super) fn apply(target: &mut Map<String, Value>, patch: &Map<String, Value>) {
    for (key, value) in patch {
        match value {
            Value::Null => {
                target.remove(key);
            }
            Value::Object(inner) => {
                let below = target.entry(key).or_insert_with(|| Map::new().into());
                if !below.is_object() {
                    *below = Map::new().into();
                }
                if let Value::Object(below) = below {
                    apply(below, inner);
                }
            }
            value => {
                target.insert(key.clone(), value.clone());
            }
        }
    }
}

/// Returns the patch from `old` to `new`; `None` if they are equal.
pub(super) fn diff(old: &Map<String, Value>, new: &Map<String, Value>) -> Option<Value> {
    let mut patch = Map::new();
    for key in old.keys().filter(|key| !new.contains_key(*key)) {
        patch.insert(key.clone(), Value::Null);
    }
    for (key, new) in new {
        let change = match (old.get(key), new) {
            (Some(Value::Object(old)), Value::Object(new)) => diff(old, new),
            (Some(old), new) if same(old, new) => None,
            (_, new) => Some(new.clone()),
        };
        patch.extend(change.map(|change| (key.clone(), change)));
    }
    (!patch.is_empty()).then(|| patch.into())
}

/// Returns whether a server stores both as the same value: it writes `1.0` as `1`.
fn same(a: &Value, b: &Value) -> bool {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => {
            a == b || (a.is_f64() || b.is_f64()) && a.as_f64() == b.as_f64()
        }
        (Value::Array(a), Value::Array(b)) => {
            a.len() == b.len() && a.iter().zip(b).all(|(a, b)| same(a, b))
        }
        (Value::Object(a), Value::Object(b)) => {
            a.len() == b.len()
                && a.iter()
                    .all(|(key, a)| b.get(key).is_some_and(|b| same(a, b)))
        }
        (a, b) => a == b,
    }
}

/// Returns the paths that a patch sets and the answer does not contain, so that the server dropped
/// them. If a whole subtree is missing, returns its root only.
pub(super) fn missing_paths(sent: &Value, answer: &Value, path: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    collect_missing(sent, answer, path, &mut found);
    found
}

fn collect_missing(sent: &Value, answer: &Value, path: &str, found: &mut BTreeSet<String>) {
    match (sent, answer) {
        (Value::Null, _) => {}
        // A server may omit an empty map.
        (Value::Object(sent), Value::Null) if sent.values().all(Value::is_null) => {}
        (_, Value::Null) => {
            found.insert(path.to_owned());
        }
        (Value::Object(sent), answer) => {
            for (key, value) in sent {
                collect_missing(value, &answer[key.as_str()], &join(path, key), found);
            }
        }
        (Value::Array(items), Value::Array(answers)) => {
            for (index, (item, answer)) in items.iter().zip(answers).enumerate() {
                collect_missing(item, answer, &format!("{path}[{index}]"), found);
            }
        }
        _ => {}
    }
}

/// Returns whether a patch sets only these paths.
pub(super) fn is_within(sent: &Value, paths: &BTreeSet<String>, path: &str) -> bool {
    if paths.contains(path) {
        return true;
    }
    match sent {
        Value::Object(sent) if !sent.is_empty() => sent
            .iter()
            .all(|(key, value)| is_within(value, paths, &join(path, key))),
        _ => false,
    }
}

fn join(path: &str, key: &str) -> String {
    format!("{path}.{key}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use serde_json::json;

    fn map(value: Value) -> Map<String, Value> {
        match value {
            Value::Object(map) => map,
            other => panic!("{other} is no map"),
        }
    }

    #[test]
    fn only_what_differs_is_in_the_patch() {
        let old = map(json!({"a": 1, "b": {"c": [1], "d": 2}, "gone": 1}));
        let new = map(json!({"a": 1.0, "b": {"c": [2], "d": 2}, "new": {"x": 1}}));
        let patch = diff(&old, &new).unwrap();
        assert_eq!(
            patch,
            json!({"b": {"c": [2]}, "gone": null, "new": {"x": 1}})
        );
        assert_eq!(diff(&old, &old), None);
    }

    #[test]
    fn fields_missing_in_the_response_were_dropped() {
        let patch = json!({
            "kept": 1, "consumers": {"a": 1}, "list": [{"x": 1, "y": 2}], "gone": null,
            "deep": {"kept": 1, "lost": 2}, "empty": {},
        });
        let answer = json!({"kept": 1, "list": [{"x": 1}], "deep": {"kept": 1}});
        let dropped = missing_paths(&patch, &answer, "status");
        let expected = ["status.consumers", "status.deep.lost", "status.list[0].y"];
        assert_eq!(dropped.iter().collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_patch_of_dropped_fields_is_empty() {
        let dropped =
            BTreeSet::from(["status.consumers".to_owned(), "status.deep.lost".to_owned()]);
        let within = |patch: Value| is_within(&patch, &dropped, "status");
        assert!(within(json!({"consumers": {"a": 2}, "deep": {"lost": 1}})));
        assert!(!within(json!({"consumers": 1, "other": 1})));
        assert!(!within(json!({"deep": {}})));
    }

    fn tree() -> impl Strategy<Value = Value> {
        let leaf = prop_oneof![
            any::<bool>().prop_map(Value::from),
            (0..3i64).prop_map(Value::from),
            Just(json!([{"a": null}])),
        ];
        leaf.prop_recursive(3, 12, 3, |inner| {
            prop::collection::btree_map("[a-c]", inner, 0..3).prop_map(|m| json!(m))
        })
    }

    fn tree_map() -> impl Strategy<Value = Map<String, Value>> {
        prop::collection::btree_map("[a-c]", tree(), 0..3).prop_map(|m| map(json!(m)))
    }

    proptest! {
        #[test]
        fn a_patch_makes_the_new_of_the_old(old in tree_map(), new in tree_map()) {
            let mut target = old.clone();
            if let Some(patch) = diff(&old, &new) {
                apply(&mut target, &map(patch));
            }
            prop_assert_eq!(target, new);
        }
    }
}
