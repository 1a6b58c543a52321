//! The constants that a script sees, from the custom resource.

use serde_json::{Map, Value, json};

use crate::model::{ParsedObject, Reason};
use crate::role::{self, Role};
use crate::script::{Variables, value};
use crate::watches::Watch;

/// The run that the constants are for.
#[derive(Clone, Copy, Debug)]
pub(super) struct ScriptInputs<'a> {
    pub(super) cr: &'a ParsedObject,
    pub(super) watch: &'a Watch,
    pub(super) role: &'a Role,
    pub(super) finalizing: bool,
    pub(super) reason: Reason,
}

/// Returns the constants of every script and module: `cr`, `spec`, `status`, `meta`, `vars`,
/// `finalizing`, `reason`.
pub(super) fn variables(scene: &ScriptInputs<'_>) -> Variables {
    let ScriptInputs {
        cr,
        watch,
        role,
        finalizing,
        reason,
    } = *scene;
    let whole = cr.value();
    let spec = map_of(whole, "spec");
    let status = map_of(whole, "status");
    let meta = meta(&whole["metadata"]);
    let finalizer = watch.finalizer.as_ref().filter(|_| finalizing);
    let finalizer = finalizer.map(|finalizer| &finalizer.vars);
    let vars = role::variables(role, &spec, &watch.vars, finalizer, watch.snake_case);
    let whole = value::to_dynamic(whole);
    let vars = Value::Object(vars);
    Variables::from([
        ("cr", whole),
        ("spec", value::to_dynamic(&spec.into())),
        ("status", value::to_dynamic(&status.into())),
        ("meta", value::to_dynamic(&meta)),
        ("vars", value::to_dynamic(&vars)),
        ("finalizing", finalizing.into()),
        ("reason", reason.as_str().into()),
    ])
}

/// Returns a member of the custom resource; an empty map if it is absent or not a map.
fn map_of(whole: &Value, key: &str) -> Map<String, Value> {
    whole[key].as_object().cloned().unwrap_or_default()
}

/// Returns the metadata that scripts can rely on: absent maps and lists are empty.
fn meta(metadata: &Value) -> Value {
    let scalar = |key: &str| metadata[key].clone();
    let map = |key: &str| metadata.get(key).cloned().unwrap_or_else(|| json!({}));
    json!({
        "name": scalar("name"),
        "namespace": scalar("namespace"),
        "uid": scalar("uid"),
        "generation": scalar("generation"),
        "labels": map("labels"),
        "annotations": map("annotations"),
        "finalizers": metadata.get("finalizers").cloned().unwrap_or_else(|| json!([])),
        "creationTimestamp": scalar("creationTimestamp"),
        "deletionTimestamp": scalar("deletionTimestamp"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn absent_metadata_is_empty() {
        let meta = meta(&json!({"name": "x", "uid": "u", "labels": {"a": "b"}}));
        assert_eq!(meta["labels"], json!({"a": "b"}));
        assert_eq!(meta["annotations"], json!({}));
        assert_eq!(meta["finalizers"], json!([]));
        for absent in ["namespace", "generation", "deletionTimestamp"] {
            assert_eq!(meta.get(absent), Some(&Value::Null), "{absent}");
        }
    }

    #[test]
    fn a_spec_that_is_not_a_map_is_empty() {
        assert!(map_of(&json!({"spec": [1]}), "spec").is_empty());
        assert!(map_of(&json!({}), "spec").is_empty());
    }
}
