//! Embedded resources: objects within an object that have their own apiVersion, kind and metadata.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#rawextension>

use serde_json::{Map, Value, json};

use super::structural::{Additional, Structural};
use super::{dns, metadata};
use crate::builtin::metadata::{NameRule, validate as validate_metadata};
use crate::error::FieldError;

/// Decodes apiVersion, kind and metadata of every embedded resource. Adds the paths of unknown fields to
/// `unknown`. The caller decodes the root, which is not embedded.
pub(super) fn decode(
    value: &mut Value,
    schema: &Structural,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    if !is_within(schema) {
        return Ok(());
    }
    visit(value, schema, "", false, unknown)
}

/// Decodes a value that may itself be an embedded resource, such as a default.
pub(super) fn decode_value(
    value: &mut Value,
    schema: &Structural,
    is_resource: bool,
    path: &str,
) -> Result<(), FieldError> {
    visit(value, schema, path, is_resource, &mut Vec::new())
}

/// Returns the errors of a value that can be an embedded resource, and of the values in it.
pub(super) fn value_errors(
    value: &Value,
    schema: &Structural,
    is_resource: bool,
    path: &str,
) -> Vec<FieldError> {
    let mut errors = Vec::new();
    check(value, schema, path, is_resource, &mut errors);
    errors
}

/// Returns whether the schema contains an embedded resource. Most schemas do not.
fn is_within(schema: &Structural) -> bool {
    schema.embedded
        || schema.items.as_deref().is_some_and(is_within)
        || schema.properties.values().any(is_within)
        || matches!(&schema.additional, Additional::Schema(it) if is_within(it))
}

fn visit(
    value: &mut Value,
    schema: &Structural,
    path: &str,
    embedded: bool,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    match value {
        Value::Object(fields) => {
            if embedded {
                decode_one(fields, path, unknown)?;
            }
            for (key, value) in fields.iter_mut() {
                if let Some(inner) = schema.of_key(key) {
                    let path = below(path, key, schema);
                    visit(value, inner, &path, inner.embedded, unknown)?;
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter_mut().enumerate() {
                    let path = format!("{path}[{index}]");
                    visit(item, schema, &path, schema.embedded, unknown)?;
                }
            }
        }
        _ => {}
    }
    Ok(())
}

fn decode_one(
    fields: &mut Map<String, Value>,
    path: &str,
    unknown: &mut Vec<String>,
) -> Result<(), FieldError> {
    for key in ["apiVersion", "kind"] {
        if let Some(value) = fields.get(key).filter(|value| !value.is_string()) {
            let path = format!("{path}.{key}");
            return Err(FieldError::invalid(path, value.clone(), "must be a string"));
        }
    }
    let Some(inner) = fields.get_mut("metadata") else {
        return Ok(());
    };
    let path = format!("{path}.metadata");
    let given = inner.clone();
    metadata::decode(inner, &path, unknown)
        .map_err(|why| FieldError::invalid(path.as_str(), given, why))
}

/// Returns the errors of the embedded resources of an object.
pub(super) fn errors(value: &Value, schema: &Structural) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if is_within(schema) {
        check(value, schema, "", false, &mut errors);
    }
    errors
}

fn check(
    value: &Value,
    schema: &Structural,
    path: &str,
    embedded: bool,
    errors: &mut Vec<FieldError>,
) {
    match value {
        Value::Object(fields) => {
            if embedded {
                check_one(fields, path, errors);
            }
            for (key, value) in fields {
                if let Some(inner) = schema.of_key(key) {
                    check(
                        value,
                        inner,
                        &below(path, key, schema),
                        inner.embedded,
                        errors,
                    );
                }
            }
        }
        Value::Array(items) => {
            if let Some(schema) = &schema.items {
                for (index, item) in items.iter().enumerate() {
                    check(
                        item,
                        schema,
                        &format!("{path}[{index}]"),
                        schema.embedded,
                        errors,
                    );
                }
            }
        }
        _ => {}
    }
}

fn check_one(fields: &Map<String, Value>, path: &str, errors: &mut Vec<FieldError>) {
    for key in ["apiVersion", "kind"] {
        let path = format!("{path}.{key}");
        let why = match fields.get(key) {
            None => {
                errors.push(FieldError::required(path, ""));
                continue;
            }
            Some(Value::String(text)) if text.is_empty() => Some("must not be empty".to_owned()),
            Some(Value::String(text)) if key == "kind" => dns::label_1035(&text.to_lowercase())
                .map(|why| format!("may have mixed case, but should otherwise match: {why}")),
            Some(Value::String(text)) => (text.matches('/').count() > 1)
                .then(|| format!("unexpected GroupVersion string: {text}")),
            Some(_) => Some("must be a string".to_owned()),
        };
        if let Some(why) = why {
            errors.push(FieldError::invalid(path, fields[key].clone(), why));
        }
    }
    if let Some(Value::Object(inner)) = fields.get("metadata") {
        errors.extend(metadata_errors(inner, path));
    }
}

/// Returns the errors of the metadata of an embedded resource. It needs no name, and a name only needs to be
/// a valid path segment.
fn metadata_errors(metadata: &Map<String, Value>, path: &str) -> Vec<FieldError> {
    let mut metadata = metadata.clone();
    metadata.entry("name").or_insert_with(|| "fakename".into());
    let namespaced = metadata.contains_key("namespace");
    let object = json!({"metadata": metadata});
    let mut errors = validate_metadata(&object, None, namespaced, NameRule::Path);
    for error in &mut errors {
        error.path = format!("{path}.{}", error.path);
    }
    errors
}

fn below(path: &str, key: &str, schema: &Structural) -> String {
    match path {
        _ if !schema.properties.contains_key(key) => format!("{path}[{key}]"),
        "" => key.to_owned(),
        path => format!("{path}.{key}"),
    }
}
