//! Checks lists that are sets or maps for duplicate items and duplicate keys.
//!
//! <https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy>

use std::collections::HashMap;

use serde_json::{Map, Value};

use super::structural::{Additional, ListType, Structural};
use crate::error::FieldError;

/// Returns the duplicates in all lists of an object.
pub(super) fn duplicates(object: &Value, schema: &Structural) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if let Value::Object(fields) = object {
        in_fields(fields, schema, "", &mut errors);
    }
    errors
}

fn in_fields(
    fields: &Map<String, Value>,
    schema: &Structural,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    for (key, value) in fields {
        // Most values are scalars, for which building the path would be a waste.
        if !value.is_object() && !value.is_array() {
            continue;
        }
        if let Additional::Schema(schema) = &schema.additional {
            visit(value, schema, &format!("{path}[{key}]"), errors);
        }
        if let Some(property) = schema.properties.get(key) {
            let dot = if path.is_empty() { "" } else { "." };
            visit(value, property, &format!("{path}{dot}{key}"), errors);
        }
    }
}

fn visit(value: &Value, schema: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    match value {
        Value::Object(fields) => in_fields(fields, schema, path, errors),
        Value::Array(items) => {
            match schema.list_type {
                ListType::Atomic => {}
                ListType::Set => {
                    for index in repeated(items) {
                        let item = items[index].clone();
                        errors.push(FieldError::duplicate(format!("{path}[{index}]"), item));
                    }
                }
                ListType::Map => in_keyed(items, schema, path, errors),
            }
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    visit(item, schema, &format!("{path}[{index}]"), errors);
                }
            }
        }
        _ => {}
    }
}

fn in_keyed(items: &[Value], schema: &Structural, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(index) = items.iter().position(|it| !it.is_object() && !it.is_null()) {
        errors.push(FieldError::invalid(
            format!("{path}[{index}]"),
            items[index].clone(),
            "must be an object for an array of list-type map",
        ));
        return;
    }
    let keys = |item: &Value| -> Value {
        let present = schema.list_map_keys.iter().filter_map(|key| {
            let value = item.get(key)?;
            Some((key.clone(), value.clone()))
        });
        Value::Object(present.collect())
    };
    let keys: Vec<Value> = items.iter().map(keys).collect();
    for index in repeated(&keys) {
        errors.push(FieldError::duplicate(
            format!("{path}[{index}]"),
            keys[index].clone(),
        ));
    }
}

/// Returns the positions of second occurrences. Further occurrences of a value are not reported.
fn repeated(values: &[Value]) -> Vec<usize> {
    let mut seen: HashMap<String, usize> = HashMap::with_capacity(values.len());
    let second = |(index, value): (usize, &Value)| {
        let times = seen.entry(value.to_string()).or_default();
        *times += 1;
        (*times == 2).then_some(index)
    };
    if values.len() < 2 {
        return Vec::new();
    }
    values.iter().enumerate().filter_map(second).collect()
}
