//! The schema of the status: the fields that the operator writes.

use serde_json::{Value, json};

/// Adds the fields that the operator writes to the schema of a status. Without a schema, the status accepts all
/// fields, because roles can set any.
pub(super) fn with_conditions(existing: &Value) -> Value {
    let mut status = if existing.is_object() {
        existing.clone()
    } else {
        json!({
            "description": "The observed state.",
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": true,
        })
    };
    let properties = &mut status["properties"];
    for (name, schema) in [
        ("observedGeneration", observed_generation()),
        ("conditions", conditions()),
    ] {
        if properties[name].is_null() {
            properties[name] = schema;
        }
    }
    status
}

fn observed_generation() -> Value {
    json!({
        "description": "The generation that the operator reconciled last.",
        "type": "integer",
        "format": "int64",
        "minimum": 0,
    })
}

/// The bounds are those of `metav1.Condition`.
fn conditions() -> Value {
    json!({
        "description": "The state of the object. Ready is true when the last run succeeded.",
        "type": "array",
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["type"],
        "items": {
            "type": "object",
            "required": ["type", "status", "reason", "message", "lastTransitionTime"],
            "properties": {
                "type": {"type": "string", "maxLength": 316},
                "status": {"type": "string", "enum": ["True", "False", "Unknown"]},
                "reason": {"type": "string", "maxLength": 1024},
                "message": {"type": "string", "maxLength": 32768},
                "observedGeneration": {"type": "integer", "format": "int64", "minimum": 0},
                "lastTransitionTime": {"type": "string", "format": "date-time"},
            },
        },
    })
}
