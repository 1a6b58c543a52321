//! Validates a schema and the schemas below it.

use serde_json::Value;

use super::scope::{Errors, Scope};
use super::{merging, rule};
use crate::crd::structural::{flag, list, object, text};
use crate::error::FieldError;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Checks a schema and those below it.
pub(super) fn node(schema: &Value, path: &str, scope: Scope<'_>) -> Errors {
    let mut errors = Errors::default();
    unsupported(schema, path, scope, &mut errors.schema);
    if flag(schema, "uniqueItems") {
        let why =
            "uniqueItems cannot be set to true since the runtime complexity becomes quadratic";
        errors
            .schema
            .push(FieldError::forbidden(format!("{path}.uniqueItems"), why));
    }
    additional(schema, path, scope, &mut errors);
    properties(schema, path, scope, &mut errors);
    junctors(schema, path, scope, &mut errors);
    items(schema, path, scope, &mut errors);
    if schema["x-kubernetes-preserve-unknown-fields"] == false {
        let path = format!("{path}.x-kubernetes-preserve-unknown-fields");
        errors.schema.push(FieldError::invalid(
            path,
            false,
            "must be true or undefined",
        ));
    }
    merging::check(schema, path, &mut errors.schema);
    rule::texts(schema, path, &mut errors.schema);
    if scope.with_rules && errors.schema.is_empty() {
        let is_resource = scope.is_root || flag(schema, "x-kubernetes-embedded-resource");
        rule::check(schema, is_resource, path, scope, &mut errors);
    }
    errors
}

fn unsupported(schema: &Value, path: &str, scope: Scope<'_>, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    let mut forbid = |key: &str, why: &str| {
        errors.push(FieldError::forbidden(format!("{path}.{key}"), why));
    };
    if let Some(reason) = scope.no_defaults
        && schema.get("default").is_some_and(|it| !it.is_null())
    {
        forbid("default", &format!("must not be set {reason}"));
    }
    for key in [
        "id",
        "additionalItems",
        "patternProperties",
        "definitions",
        "dependencies",
        "$ref",
    ] {
        if schema.get(key).is_some_and(|it| !it.is_null()) {
            forbid(key, &format!("{key} is not supported"));
        }
    }
    if kind.as_deref() == Some("null") {
        forbid(
            "type",
            "type cannot be set to null, use nullable as an alternative",
        );
    }
    if schema["items"]
        .as_array()
        .is_some_and(|items| !items.is_empty())
    {
        forbid("items", "items must be a schema object and not an array");
    }
    if scope.in_metadata && flag(schema, "x-kubernetes-embedded-resource") {
        forbid(
            "x-kubernetes-embedded-resource",
            "must not be used inside of resource meta",
        );
    }
    if let Some(kind) = kind.filter(|kind| !TYPES.contains(&kind.as_str())) {
        errors.push(FieldError::not_supported(
            format!("{path}.type"),
            kind,
            &TYPES,
        ));
    }
}

fn additional(schema: &Value, path: &str, scope: Scope<'_>, errors: &mut Errors) {
    let Some(additional) = schema
        .get("additionalProperties")
        .filter(|it| !it.is_null())
    else {
        return;
    };
    let path = format!("{path}.additionalProperties");
    if object(schema, "properties").next().is_some() && *additional != true {
        let why = "additionalProperties and properties are mutual exclusive";
        errors
            .schema
            .push(FieldError::forbidden(path.as_str(), why));
    }
    let inside = "inside additionalProperties applying to object metadata";
    let scope = Scope {
        is_root: false,
        no_defaults: if scope.in_metadata {
            Some(inside)
        } else {
            scope.no_defaults
        },
        times: scope.times_of(schema, "maxProperties"),
        ..scope
    };
    if additional.is_object() {
        errors.append(node(additional, &path, scope));
    }
}

fn properties(schema: &Value, path: &str, scope: Scope<'_>, errors: &mut Errors) {
    let is_resource = scope.is_root || flag(schema, "x-kubernetes-embedded-resource");
    for (name, property) in object(schema, "properties") {
        let of_resource =
            is_resource && matches!(name.as_str(), "metadata" | "kind" | "apiVersion");
        let reason = format!("in top-level {name}");
        let forbidden = of_resource && scope.is_root;
        let below = Scope {
            is_root: false,
            in_metadata: scope.in_metadata || of_resource,
            no_defaults: if forbidden {
                Some(&reason)
            } else {
                scope.no_defaults
            },
            ..scope
        };
        errors.append(node(property, &format!("{path}.properties[{name}]"), below));
    }
}

fn junctors(schema: &Value, path: &str, scope: Scope<'_>, errors: &mut Errors) {
    let scope = Scope {
        is_root: false,
        with_rules: false,
        ..scope
    };
    if let Some(not) = schema.get("not").filter(|it| it.is_object()) {
        errors.append(node(not, &format!("{path}.not"), scope));
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for (index, inner) in list(schema, key).enumerate() {
            errors.append(node(inner, &format!("{path}.{key}[{index}]"), scope));
        }
    }
}

fn items(schema: &Value, path: &str, scope: Scope<'_>, errors: &mut Errors) {
    let correlates = schema["x-kubernetes-list-type"] == "map";
    let scope = Scope {
        is_root: false,
        uncorrelated: scope.uncorrelated.or_else(|| (!correlates).then_some(path)),
        times: scope.times_of(schema, "maxItems"),
        ..scope
    };
    match &schema["items"] {
        items @ Value::Object(_) => errors.append(node(items, &format!("{path}.items"), scope)),
        Value::Array(all) => {
            for (index, items) in all.iter().enumerate() {
                errors.append(node(items, &format!("{path}.items[{index}]"), scope));
            }
        }
        _ => {}
    }
}
