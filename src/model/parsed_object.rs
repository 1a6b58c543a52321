//! An object with its tree, which is parsed once, at the first use.

use std::ops::Deref;
use std::sync::{Arc, OnceLock};

use serde_json::Value;

use super::Object;

/// An object whose tree is used more than once.
#[derive(Clone, Debug)]
pub struct ParsedObject {
    object: Arc<Object>,
    value: OnceLock<Value>,
}

impl ParsedObject {
    /// Creates it without a tree.
    pub fn new(object: Arc<Object>) -> Self {
        Self {
            object,
            value: OnceLock::new(),
        }
    }

    /// Returns the object.
    pub fn object(&self) -> &Arc<Object> {
        &self.object
    }

    /// Returns the object, without the tree.
    pub fn into_object(self) -> Arc<Object> {
        self.object
    }

    /// Returns its tree ([`Object::value`]).
    pub fn value(&self) -> &Value {
        self.value.get_or_init(|| self.object.value())
    }

    /// Replaces the object with a later state. Keeps the tree if the state is the same.
    pub fn replace(&mut self, object: Arc<Object>) {
        if object.json() != self.object.json() {
            self.value = OnceLock::new();
        }
        self.object = object;
    }
}

impl Deref for ParsedObject {
    type Target = Object;

    fn deref(&self) -> &Object {
        &self.object
    }
}

impl From<Arc<Object>> for ParsedObject {
    fn from(object: Arc<Object>) -> Self {
        Self::new(object)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::model::Gvk;

    fn object(data: &str) -> Arc<Object> {
        let value = json!({"metadata": {"name": "c"}, "data": {"a": data}});
        Arc::new(Object::from_value(&Gvk::new("", "v1", "ConfigMap"), &value).unwrap())
    }

    #[test]
    fn the_tree_is_that_of_the_stored_object() {
        let mut parsed = ParsedObject::new(object("x"));
        assert_eq!(parsed.value()["data"]["a"], "x");
        parsed.replace(object("x"));
        assert!(
            parsed.value.get().is_some(),
            "the same text has the same tree"
        );
        parsed.replace(object("y"));
        assert_eq!(parsed.value()["data"]["a"], "y");
    }
}
