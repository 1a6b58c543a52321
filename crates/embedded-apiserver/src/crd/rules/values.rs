//! Converts an object to CEL values, with the types of its schema and with names that expressions can
//! contain.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#field-path-for-validation-rules>

use std::collections::HashMap;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use kube_cel::cel::Value as Cel;
use kube_cel::cel::objects::{Key, Map, OptionalValue};
use serde_json::Value;

use super::names::escape;
use super::program::Program;
use crate::crd::structural::Structural;

/// Returns a value as rules see it. Of a resource, rules always see apiVersion, kind and names.
pub(super) fn convert(value: &Value, schema: &Structural, is_resource: bool) -> Cel {
    match value {
        Value::Null => Cel::Null,
        Value::Bool(it) => Cel::Bool(*it),
        Value::Number(number) => match number.as_i64() {
            Some(integer) if schema.kind.as_deref() != Some("number") => Cel::Int(integer),
            _ => Cel::Float(number.as_f64().unwrap_or_default()),
        },
        Value::String(text) => string(text, schema),
        Value::Array(items) => Cel::List(Arc::new(match &schema.items {
            Some(schema) => items
                .iter()
                .map(|it| convert(it, schema, schema.embedded))
                .collect(),
            None => Vec::new(),
        })),
        Value::Object(fields) => {
            let by_name = is_resource && !schema.describes_resource();
            let is_own = |key: &str| by_name && matches!(key, "apiVersion" | "kind" | "metadata");
            let field = |(key, value): (&String, &Value)| {
                let (key, value) = match schema.properties.get(key) {
                    // The schema of these fields does not matter.
                    _ if is_own(key) => (key.clone(), of_resource(key, value)?),
                    Some(property) => (escape(key), convert(value, property, property.embedded)),
                    None if is_resource => (key.clone(), of_resource(key, value)?),
                    // Keys of maps are data and are not escaped.
                    None => {
                        let schema = schema.of_key(key)?;
                        (key.clone(), convert(value, schema, schema.embedded))
                    }
                };
                Some((Key::String(Arc::new(key)), value))
            };
            map(fields.iter().filter_map(field).collect())
        }
    }
}

/// Returns an optional value, such as the old value of a new object.
pub(super) fn optional(value: Option<Cel>) -> Cel {
    Cel::Opaque(Arc::new(match value {
        Some(value) => OptionalValue::of(value),
        None => OptionalValue::none(),
    }))
}

fn map(fields: HashMap<Key, Cel>) -> Cel {
    Cel::Map(Map {
        map: Arc::new(fields),
    })
}

fn text(text: &str) -> Cel {
    Cel::String(Arc::new(text.to_owned()))
}

fn of_resource(key: &str, value: &Value) -> Option<Cel> {
    match (key, value) {
        ("apiVersion" | "kind", Value::String(it)) => Some(text(it)),
        ("metadata", Value::Object(metadata)) => {
            let name = |key: &str| {
                let value = text(metadata.get(key)?.as_str()?);
                Some((Key::String(Arc::new(key.to_owned())), value))
            };
            Some(map(["name", "generateName"]
                .into_iter()
                .filter_map(name)
                .collect()))
        }
        _ => None,
    }
}

fn string(value: &str, schema: &Structural) -> Cel {
    let format = schema.checks.format.as_ref().map(|(name, _)| name.as_str());
    let call = |function: &str, argument: String| {
        Program::compile(&format!("{function}(self)"))
            .and_then(|program| program.run(&text(&argument), None))
            .unwrap_or_else(|_| text(value))
    };
    match format {
        _ if schema.int_or_string => text(value),
        Some("byte") => match STANDARD.decode(value) {
            Ok(bytes) => Cel::Bytes(Arc::new(bytes)),
            Err(_) => text(value),
        },
        Some("date-time") => call("timestamp", value.to_owned()),
        Some("date") => call("timestamp", format!("{value}T00:00:00Z")),
        Some("duration") => call("duration", value.to_owned()),
        _ => text(value),
    }
}
