//! Unified YAML diffs between two states of an object, for the user.
//!
//! Pure functions. Fields that every write changes (versions, managed fields, times) are omitted.
//! Values of Secrets are hidden; the diff shows only that one changed.

use serde_json::{Map, Value, json};
use similar::TextDiff;

use crate::model::{Gvk, Object, ObjectRef, yaml};

/// Metadata that every write changes.
const NOISE: [&str; 6] = [
    "creationTimestamp",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
];
/// Context lines around a change, as in `diff -u`.
const CONTEXT: usize = 3;

/// The kind of a change.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ChangeKind {
    /// The object is created.
    Create,
    /// The object is changed.
    Change,
    /// The object is deleted.
    Delete,
}

/// Returns the kind of change between two states; `None` if the user would see no difference.
pub(crate) fn change_kind(before: Option<&Object>, after: Option<&Object>) -> Option<ChangeKind> {
    match (before, after) {
        (None, None) => None,
        (None, Some(_)) => Some(ChangeKind::Create),
        (Some(_), None) => Some(ChangeKind::Delete),
        (Some(before), Some(after)) => {
            (!is_equivalent(before, after)).then_some(ChangeKind::Change)
        }
    }
}

/// Returns whether the user would see no difference.
pub(crate) fn is_equivalent(before: &Object, after: &Object) -> bool {
    before.json() == after.json() || stripped(before.value()) == stripped(after.value())
}

/// Returns the unified diff between two trees of an object; empty if they are equal. `None` stands for
/// an absent object.
pub(crate) fn unified_diff(
    object: &ObjectRef,
    before: Option<Value>,
    after: Option<Value>,
) -> String {
    let (mut old, mut new) = (before.map(stripped), after.map(stripped));
    if object.gvk.same_kind(&Gvk::new("", "v1", "Secret")) {
        hide_secret_data(old.as_mut(), new.as_mut());
    }
    let name = |side: &Option<Value>| match side {
        Some(_) => object.to_string(),
        None => "/dev/null".to_owned(),
    };
    let header = (name(&old), name(&new));
    let text = |side: Option<Value>| side.map_or_else(String::new, |tree| yaml::write(&tree));
    let (old, new) = (text(old), text(new));
    if old == new {
        return String::new();
    }
    TextDiff::from_lines(&old, &new)
        .unified_diff()
        .context_radius(CONTEXT)
        .header(&header.0, &header.1)
        .to_string()
}

/// Removes the metadata that every write changes.
fn stripped(mut value: Value) -> Value {
    if let Some(metadata) = value.get_mut("metadata").and_then(Value::as_object_mut) {
        for field in NOISE {
            metadata.remove(field);
        }
    }
    value
}

/// Hides the values of a Secret. A changed value has another text on the second side, so that the diff
/// shows the change.
fn hide_secret_data(mut old: Option<&mut Value>, mut new: Option<&mut Value>) {
    for field in ["data", "stringData"] {
        let values = |side: &Option<&mut Value>| -> Map<String, Value> {
            let values = side.as_ref().and_then(|v| v.get(field)?.as_object());
            values.cloned().unwrap_or_default()
        };
        let (was, is) = (values(&old), values(&new));
        mask_values(old.as_deref_mut(), field, |_| "(hidden)");
        mask_values(new.as_deref_mut(), field, |key| {
            if was.get(key).is_some_and(|value| is.get(key) != Some(value)) {
                "(hidden, changed)"
            } else {
                "(hidden)"
            }
        });
    }
}

fn mask_values(object: Option<&mut Value>, field: &str, text: impl Fn(&str) -> &'static str) {
    let values = object.and_then(|object| object.get_mut(field)?.as_object_mut());
    for (key, value) in values.into_iter().flatten() {
        *value = json!(text(key));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::object;

    fn diff(before: Option<&Object>, after: Option<&Object>) -> String {
        let object = before.or(after).unwrap().object_ref();
        unified_diff(&object, before.map(Object::value), after.map(Object::value))
    }

    #[test]
    fn only_what_a_user_wrote_is_compared() {
        let a = object(
            "ConfigMap",
            &json!({"metadata": {"name": "c", "resourceVersion": "1"}}),
        );
        let b = object(
            "ConfigMap",
            &json!({"metadata": {"name": "c", "resourceVersion": "2"}}),
        );
        assert!(is_equivalent(&a, &b));
        assert_eq!(change_kind(Some(&a), Some(&b)), None);
        assert_eq!(diff(Some(&a), Some(&b)), "");
    }

    #[test]
    fn a_change_is_a_diff() {
        let a = object(
            "ConfigMap",
            &json!({"metadata": {"name": "c"}, "data": {"k": "1", "l": "x"}}),
        );
        let b = object(
            "ConfigMap",
            &json!({"metadata": {"name": "c"}, "data": {"k": "2", "l": "x"}}),
        );
        insta::assert_snapshot!(diff(Some(&a), Some(&b)), @r#"
        --- ConfigMap c
        +++ ConfigMap c
        @@ -1,6 +1,6 @@
         apiVersion: v1
         data:
        -  k: "1"
        +  k: "2"
           l: x
         kind: ConfigMap
         metadata:
        "#);
        assert_eq!(change_kind(Some(&a), Some(&b)), Some(ChangeKind::Change));
    }

    #[test]
    fn coming_and_going_are_whole_objects() {
        let a = object("ConfigMap", &json!({"metadata": {"name": "c"}}));
        assert!(diff(None, Some(&a)).starts_with("--- /dev/null\n+++ ConfigMap c\n"));
        assert!(diff(Some(&a), None).contains("-kind: ConfigMap\n"));
        assert_eq!(change_kind(None, Some(&a)), Some(ChangeKind::Create));
        assert_eq!(change_kind(Some(&a), None), Some(ChangeKind::Delete));
    }

    #[test]
    fn values_of_secrets_are_hidden() {
        let secret = |a: &str, b: &str| {
            object(
                "Secret",
                &json!({"metadata": {"name": "s"}, "data": {"a": a, "b": b}}),
            )
        };
        let shown = diff(
            Some(&secret("c2VjcmV0", "eA==")),
            Some(&secret("aGlkZGVu", "eA==")),
        );
        assert!(
            shown.contains("-  a: (hidden)\n+  a: (hidden, changed)\n   b: (hidden)\n"),
            "{shown}"
        );
        assert!(!shown.contains("c2VjcmV0") && !shown.contains("aGlkZGVu"));
        let new = diff(None, Some(&secret("c2VjcmV0", "eA==")));
        assert!(!new.contains("c2VjcmV0"), "{new}");
    }
}
