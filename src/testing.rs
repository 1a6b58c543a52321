//! Objects for unit tests.

use serde_json::{Value, json};

use crate::model::{Gvk, Object};

/// Parses a custom resource of the kind `Web`.
pub(crate) fn custom_resource(value: &Value) -> Object {
    Object::from_value(&Gvk::new("example.com", "v1", "Web"), value).unwrap()
}

/// Parses an object of a core kind, such as a `ConfigMap`.
pub(crate) fn object(kind: &str, value: &Value) -> Object {
    Object::from_value(&Gvk::new("", "v1", kind), value).unwrap()
}

/// Returns the custom resource `w` with the uid `u1`.
pub(crate) fn owner(namespace: Option<&str>) -> Object {
    custom_resource(&json!({"metadata": {"name": "w", "namespace": namespace, "uid": "u1"}}))
}
