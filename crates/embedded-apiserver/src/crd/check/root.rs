//! Checks the schema of a version as a whole: the allowed fields of its root, and the order of checks.

use serde_json::Value;

use super::schema::node;
use super::scope::Scope;
use super::{defaults, structure};
use crate::crd::structural::{Structural, flag, text};
use crate::error::FieldError;

/// Checks the schema of a version, if it has one.
pub(super) fn check(schema: &Value, path: &str, with_status: bool, errors: &mut Vec<FieldError>) {
    if !schema.is_object() {
        return;
    }
    if with_status {
        errors.extend(root_error(schema, path));
    }
    if flag(schema, "nullable") {
        let why = "nullable cannot be true at the root";
        errors.push(FieldError::forbidden(format!("{path}.nullable"), why));
    }
    let readable = is_readable(schema);
    let mut before = if readable {
        structure::errors(schema, path)
    } else {
        Vec::new()
    };
    if readable && before.is_empty() {
        before = defaults::errors(&Structural::read(schema), path);
    }
    let scope = Scope::root(readable && before.is_empty());
    errors.extend(before);
    let found = node(schema, path, scope);
    errors.extend(found.schema);
    errors.extend(found.rules);
    errors.extend(found.costs.total(path));
}

/// Returns an error if the root of a schema with a status subresource has a field that is not allowed there.
fn root_error(schema: &Value, path: &str) -> Option<FieldError> {
    const ALLOWED: [(&str, &str); 22] = [
        ("description", "Description"),
        ("type", "Type"),
        ("format", "Format"),
        ("title", "Title"),
        ("maximum", "Maximum"),
        ("exclusiveMaximum", "ExclusiveMaximum"),
        ("minimum", "Minimum"),
        ("exclusiveMinimum", "ExclusiveMinimum"),
        ("maxLength", "MaxLength"),
        ("minLength", "MinLength"),
        ("pattern", "Pattern"),
        ("maxItems", "MaxItems"),
        ("minItems", "MinItems"),
        ("uniqueItems", "UniqueItems"),
        ("multipleOf", "MultipleOf"),
        ("required", "Required"),
        ("items", "Items"),
        ("properties", "Properties"),
        ("externalDocs", "ExternalDocs"),
        ("example", "Example"),
        (
            "x-kubernetes-preserve-unknown-fields",
            "XPreserveUnknownFields",
        ),
        ("x-kubernetes-validations", "XValidations"),
    ];
    if let Some(kind) = text(schema, "type").filter(|kind| kind != "object") {
        let why = "only \"object\" is allowed as the type at the root of the schema if the status \
            subresource is enabled";
        return Some(FieldError::invalid(format!("{path}.type"), kind, why));
    }
    let is_set = |value: &Value| !matches!(value, Value::Null | Value::Bool(false));
    let foreign = schema
        .as_object()?
        .iter()
        .any(|(key, value)| is_set(value) && !ALLOWED.iter().any(|(allowed, _)| allowed == key));
    let names: Vec<&str> = ALLOWED.iter().map(|(_, name)| *name).collect();
    let why = format!(
        "only [{}] fields are allowed at the root of the schema if the status subresource is enabled",
        names.join(" ")
    );
    foreign.then(|| FieldError::invalid(path, schema.clone(), why))
}

/// Returns whether a schema contains no fields that a structural schema cannot represent.
fn is_readable(schema: &Value) -> bool {
    const UNREADABLE: [&str; 7] = [
        "id",
        "$schema",
        "$ref",
        "patternProperties",
        "dependencies",
        "additionalItems",
        "definitions",
    ];
    let is_set = |key: &&str| match schema.get(*key) {
        None | Some(Value::Null) => false,
        Some(Value::String(text)) => !text.is_empty(),
        Some(Value::Object(fields)) => !fields.is_empty(),
        Some(_) => true,
    };
    !UNREADABLE.iter().any(is_set)
        && !schema["items"].is_array()
        && schema["x-kubernetes-preserve-unknown-fields"] != false
        && super::schemas_below(schema).all(is_readable)
}
