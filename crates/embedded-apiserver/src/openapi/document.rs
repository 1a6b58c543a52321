//! The parts of a document.

use std::fmt::Write;

use serde_json::{Map, Value, json};

/// The schemas and paths of all built-in documents.
pub(super) static FILE: &[u8] = include_bytes!("../schema/openapi.json.gz");

/// Returns bytes as upper-case hexadecimal digits.
pub(super) fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        // Writing to a string cannot fail.
        let _ = write!(text, "{byte:02X}");
        text
    })
}

/// Returns a document with paths and schemas.
pub(super) fn whole(paths: Map<String, Value>, schemas: Map<String, Value>) -> Value {
    let mut document = json!({
        "openapi": "3.0.0",
        "info": {"title": "Kubernetes", "version": "1.36"},
        "paths": {},
        "components": {
            "securitySchemes": {"BearerToken": {
                "type": "apiKey",
                "description": "Bearer Token authentication",
                "name": "authorization",
                "in": "header",
            }},
        },
    });
    document["paths"] = Value::Object(paths);
    if !schemas.is_empty() {
        document["components"]["schemas"] = Value::Object(schemas);
    }
    document
}

/// Returns the operations of a path. Replaces numbers by the parameters, bodies and responses that they refer
/// to.
pub(super) fn expanded(file: &Map<String, Value>, item: &Value) -> Value {
    let part = |number: &Value| {
        let place = number
            .as_u64()
            .and_then(|place| usize::try_from(place).ok());
        place.map_or(Value::Null, |place| file["parts"][place].clone())
    };
    let list = |numbers: &Value| -> Value {
        let numbers = numbers.as_array();
        numbers.into_iter().flatten().map(part).collect()
    };
    let mut expanded = item.clone();
    for (key, value) in expanded.as_object_mut().into_iter().flatten() {
        if key == "parameters" {
            *value = list(value);
            continue;
        }
        for (key, field) in value.as_object_mut().into_iter().flatten() {
            match key.as_str() {
                "parameters" => *field = list(field),
                "requestBody" => *field = part(field),
                "responses" => {
                    for response in field.as_object_mut().into_iter().flat_map(Map::values_mut) {
                        *response = part(response);
                    }
                }
                _ => {}
            }
        }
    }
    expanded
}
