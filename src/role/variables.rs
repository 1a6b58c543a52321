//! Merges the variables of a run from six layers.

use std::borrow::Cow;

use serde_json::{Map, Value};

use super::compiled_role::Role;
use super::inputs;
use super::snake_case::snake_case_keys;

/// Merges the variables of a run. Later layers override earlier ones: defaults of the role's inputs < role defaults < role vars < CR
/// spec < watch vars < finalizer vars. Maps are merged deeply, a null removes a
/// key, and other values replace.
///
/// Inputs describe the spec, so their defaults have its names. The role overrides them, because no user set
/// them.
pub fn variables(
    role: &Role,
    spec: &Map<String, Value>,
    watch: &Map<String, Value>,
    finalizer: Option<&Map<String, Value>>,
    snake_case: bool,
) -> Map<String, Value> {
    let mut spec = Cow::Borrowed(spec);
    let mut merged = role.defaults.clone();
    if !role.inputs.is_empty() {
        let defaults = inputs::defaults(&role.inputs);
        merge_missing(&mut merged, &named(&defaults, snake_case));
        inputs::fill_items(&role.inputs, spec.to_mut());
    }
    merge(&mut merged, &role.vars);
    merge(&mut merged, &named(&spec, snake_case));
    merge(&mut merged, watch);
    if let Some(finalizer) = finalizer {
        merge(&mut merged, finalizer);
    }
    merged
}

/// Returns a map of the spec with the names of variables.
fn named(map: &Map<String, Value>, snake_case: bool) -> Cow<'_, Map<String, Value>> {
    if snake_case {
        Cow::Owned(snake_case_keys(map))
    } else {
        Cow::Borrowed(map)
    }
}

/// Adds the keys that `base` does not have.
fn merge_missing(base: &mut Map<String, Value>, under: &Map<String, Value>) {
    for (key, value) in under {
        match (base.get_mut(key), value) {
            (None, value) => {
                base.insert(key.clone(), value.clone());
            }
            (Some(Value::Object(base)), Value::Object(under)) => merge_missing(base, under),
            _ => {}
        }
    }
}

/// Merges `over` into `base`.
fn merge(base: &mut Map<String, Value>, over: &Map<String, Value>) {
    for (key, value) in over {
        match (base.get_mut(key), value) {
            (_, Value::Null) => {
                base.remove(key);
            }
            (Some(Value::Object(below)), Value::Object(above)) => merge(below, above),
            (_, Value::Object(above)) => {
                // Nulls inside have nothing to remove, and must not stay as values.
                let mut fresh = Map::new();
                merge(&mut fresh, above);
                base.insert(key.clone(), Value::Object(fresh));
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn map(value: Value) -> Map<String, Value> {
        let Value::Object(map) = value else {
            panic!("{value}")
        };
        map
    }

    #[track_caller]
    #[expect(clippy::needless_pass_by_value, reason = "reads better at the calls")]
    fn check(base: Value, over: Value, expected: Value) {
        let mut merged = map(base);
        merge(&mut merged, &map(over));
        assert_eq!(Value::Object(merged), expected);
    }

    #[test]
    fn maps_merge_deeply_and_lists_are_replaced() {
        check(
            json!({"image": {"repository": "a", "tag": "1"}, "ports": [1, 2]}),
            json!({"image": {"tag": "2"}, "ports": [3]}),
            json!({"image": {"repository": "a", "tag": "2"}, "ports": [3]}),
        );
    }

    #[test]
    fn a_null_removes_and_never_stays() {
        check(
            json!({"a": {"b": 1, "c": 2}, "d": 3}),
            json!({"a": {"b": null}, "d": null, "e": {"f": null}, "g": null}),
            json!({"a": {"c": 2}, "e": {}}),
        );
    }

    #[test]
    fn maps_and_other_values_replace_each_other() {
        check(
            json!({"a": 1}),
            json!({"a": {"b": 2}}),
            json!({"a": {"b": 2}}),
        );
        check(json!({"a": {"b": 2}}), json!({"a": 1}), json!({"a": 1}));
    }
}
