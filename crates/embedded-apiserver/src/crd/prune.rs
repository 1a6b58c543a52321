//! Pruning: removes the fields that a schema does not contain from an object.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-pruning>

use serde_json::Value;

use super::structural::{Additional, Structural};

/// The fields that every resource has. Schemas need not contain them.
const OF_EVERY_RESOURCE: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// Removes the unknown fields of a resource. Returns their paths, sorted.
pub(super) fn resource(object: &mut Value, schema: &Structural) -> Vec<String> {
    let mut pruner = Pruner::default();
    pruner.start(object, schema, true);
    pruner.dropped.sort();
    pruner.dropped
}

/// Removes the unknown fields of a value.
pub(super) fn value(value: &mut Value, schema: &Structural, is_resource: bool) {
    Pruner::default().start(value, schema, is_resource);
}

#[derive(Default)]
struct Pruner {
    path: String,
    dropped: Vec<String>,
}

impl Pruner {
    fn start(&mut self, value: &mut Value, schema: &Structural, is_resource: bool) {
        if schema.preserve_unknown {
            self.preserve(value, schema, is_resource);
        } else {
            self.prune(value, Some(schema), is_resource);
        }
    }

    fn visit(&mut self, value: &mut Value, schema: Option<&Structural>) {
        match schema {
            Some(schema) if schema.preserve_unknown => {
                self.preserve(value, schema, schema.embedded);
            }
            _ => self.prune(value, schema, schema.is_some_and(|it| it.embedded)),
        }
    }

    fn prune(&mut self, value: &mut Value, schema: Option<&Structural>, resource: bool) {
        match value {
            Value::Object(fields) => fields.retain(|key, value| {
                if resource && OF_EVERY_RESOURCE.contains(&key.as_str()) {
                    return true;
                }
                let inner =
                    match schema.map_or(KeySchema::No, |schema| KeySchema::find(schema, key)) {
                        KeySchema::No => {
                            self.drop(key);
                            return false;
                        }
                        KeySchema::Bare => None,
                        KeySchema::By(schema) => Some(schema),
                    };
                self.below(key, |pruner| pruner.visit(value, inner));
                true
            }),
            Value::Array(items) => {
                let schema = schema.and_then(|schema| schema.items.as_deref());
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(index, |pruner| pruner.visit(item, schema));
                }
            }
            _ => {}
        }
    }

    /// Keeps unknown fields, and prunes the values of known fields.
    fn preserve(&mut self, value: &mut Value, schema: &Structural, resource: bool) {
        match value {
            Value::Object(fields) => {
                for (key, value) in fields.iter_mut() {
                    if resource && OF_EVERY_RESOURCE.contains(&key.as_str()) {
                        continue;
                    }
                    let inner = match KeySchema::find(schema, key) {
                        KeySchema::No => continue,
                        KeySchema::Bare => None,
                        KeySchema::By(schema) => Some(schema),
                    };
                    self.below(key, |pruner| pruner.visit(value, inner));
                }
            }
            Value::Array(items) => {
                let Some(schema) = schema.items.as_deref() else {
                    return;
                };
                for (index, item) in items.iter_mut().enumerate() {
                    self.at(index, |pruner| {
                        pruner.preserve(item, schema, schema.embedded);
                    });
                }
            }
            _ => {}
        }
    }

    fn drop(&mut self, key: &str) {
        // These fields of the root are always kept, so they are not reported.
        if self.path.is_empty() && OF_EVERY_RESOURCE.contains(&key) {
            return;
        }
        self.below(key, |pruner| pruner.dropped.push(pruner.path.clone()));
    }

    fn below(&mut self, key: &str, act: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(key);
        act(self);
        self.path.truncate(length);
    }

    fn at(&mut self, index: usize, act: impl FnOnce(&mut Self)) {
        let length = self.path.len();
        self.path.push('[');
        self.path.push_str(&index.to_string());
        self.path.push(']');
        act(self);
        self.path.truncate(length);
    }
}

/// The schema of a key.
enum KeySchema<'a> {
    No,
    /// The key is allowed, but there is no schema for its value.
    Bare,
    By(&'a Structural),
}

impl<'a> KeySchema<'a> {
    fn find(schema: &'a Structural, key: &str) -> Self {
        match (schema.properties.get(key), &schema.additional) {
            (Some(property), _) => Self::By(property),
            (None, Additional::Schema(schema)) => Self::By(schema),
            (None, Additional::Allowed(_)) => Self::Bare,
            (None, Additional::Unset) => Self::No,
        }
    }
}

/// Removes nulls from fields that are not nullable and have no default.
pub(super) fn nulls(value: &mut Value, schema: Option<&Structural>) {
    match value {
        Value::Object(fields) => fields.retain(|key, value| {
            let schema = schema.and_then(|schema| schema.of_key(key));
            let dropped = value.is_null()
                && schema.is_some_and(|schema| !schema.nullable && schema.default.is_none());
            if !dropped {
                nulls(value, schema);
            }
            !dropped
        }),
        Value::Array(items) => {
            let schema = schema.and_then(|schema| schema.items.as_deref());
            for item in items {
                nulls(item, schema);
            }
        }
        _ => {}
    }
}
