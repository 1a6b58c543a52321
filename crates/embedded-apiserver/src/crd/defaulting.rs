//! Sets defaults: for missing fields, and for nulls in fields that are not nullable.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#defaulting>

use serde_json::Value;

use super::structural::Structural;

/// Sets the defaults of a schema, including those within defaults.
pub(super) fn apply(value: &mut Value, schema: &Structural) {
    match value {
        Value::Object(fields) => {
            for (name, property) in &schema.properties {
                let Some(default) = &property.default else {
                    continue;
                };
                if fields
                    .get(name)
                    .is_none_or(|value| value.is_null() && !property.nullable)
                {
                    fields.insert(name.clone(), default.clone());
                }
            }
            for (key, value) in fields.iter_mut() {
                if let Some(schema) = schema.of_key(key) {
                    child(value, schema);
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for item in items {
                    child(item, schema);
                }
            }
        }
        _ => {}
    }
}

fn child(value: &mut Value, schema: &Structural) {
    if value.is_null() && !schema.nullable {
        *value = schema.default.clone().unwrap_or(Value::Null);
    }
    apply(value, schema);
}
