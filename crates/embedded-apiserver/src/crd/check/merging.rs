//! Checks the merge strategy of lists and maps: `x-kubernetes-list-type`, `x-kubernetes-list-map-keys` and
//! `x-kubernetes-map-type`.
//!
//! <https://kubernetes.io/docs/reference/using-api/server-side-apply/#merge-strategy>

use serde_json::Value;

use crate::crd::structural::{flag, list, text};
use crate::error::FieldError;

/// Checks the extensions of one schema.
pub(super) fn check(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    map_type(schema, path, errors);
    list_type(schema, path, errors);
    list_map(schema, path, errors);
    list_keys(schema, path, errors);
}

/// Checks that a schema with an extension has the type that the extension requires.
fn wants_type(schema: &Value, wanted: &str, key: &str, path: &str, errors: &mut Vec<FieldError>) {
    let why = format!("must be {wanted} if {key} is specified");
    let path = format!("{path}.type");
    match text(schema, "type") {
        Some(kind) if kind == wanted => {}
        Some(kind) => errors.push(FieldError::invalid(path, kind, why)),
        None => errors.push(FieldError::required(path, why)),
    }
}

fn map_type(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const KEY: &str = "x-kubernetes-map-type";
    const KNOWN: [&str; 2] = ["atomic", "granular"];
    let Some(kind) = schema[KEY].as_str() else {
        return;
    };
    wants_type(schema, "object", KEY, path, errors);
    if !KNOWN.contains(&kind) {
        errors.push(FieldError::not_supported(
            format!("{path}.{KEY}"),
            kind,
            &KNOWN,
        ));
    }
}

fn list_type(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const KEY: &str = "x-kubernetes-list-type";
    const KNOWN: [&str; 3] = ["atomic", "set", "map"];
    let Some(kind) = schema[KEY].as_str() else {
        return;
    };
    wants_type(schema, "array", KEY, path, errors);
    let items = &schema["items"];
    if schema["type"] == "array" && kind == "set" && items.is_object() {
        let why = "must be atomic as item of a list with x-kubernetes-list-type=set";
        let inner = &items[KEY];
        let map = &items["x-kubernetes-map-type"];
        // The server shows the list type of the items for both errors.
        if items["type"] == "array" && inner.is_string() && inner != "atomic" {
            let path = format!("{path}.items.{KEY}");
            errors.push(FieldError::invalid(path, inner.clone(), why));
        } else if items["type"] == "object" && map != "atomic" {
            let path = format!("{path}.items.x-kubernetes-map-type");
            errors.push(FieldError::invalid(path, inner.clone(), why));
        }
    }
    if !KNOWN.contains(&kind) {
        errors.push(FieldError::not_supported(
            format!("{path}.{KEY}"),
            kind,
            &KNOWN,
        ));
    }
}

/// Checks a list that is a map: its keys must be scalar properties of the items.
fn list_map(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let kind = schema["x-kubernetes-list-type"].as_str();
    let keys = &schema["x-kubernetes-list-map-keys"];
    let names: Vec<&str> = list(schema, "x-kubernetes-list-map-keys")
        .filter_map(Value::as_str)
        .collect();
    if kind != Some("map") {
        let path = format!("{path}.x-kubernetes-list-type");
        let why = "must be map if x-kubernetes-list-map-keys is non-empty";
        match kind.filter(|_| !names.is_empty()) {
            Some(kind) => errors.push(FieldError::invalid(path, kind, why)),
            None if !names.is_empty() => errors.push(FieldError::required(path, why)),
            None => {}
        }
        return;
    }
    let at_keys = format!("{path}.x-kubernetes-list-map-keys");
    if names.is_empty() {
        let why = "must not be empty if x-kubernetes-list-type is map";
        errors.push(FieldError::required(at_keys.as_str(), why));
    }
    let items = &schema["items"];
    if !items.is_object() {
        let why = "must have a schema if x-kubernetes-list-type is map";
        errors.push(FieldError::required(format!("{path}.items"), why));
        return;
    }
    if items["type"] != "object" {
        let kind = items["type"].as_str().unwrap_or_default();
        let why = "must be object if parent array's x-kubernetes-list-type is map";
        errors.push(FieldError::invalid(format!("{path}.items.type"), kind, why));
        return;
    }
    for (index, name) in names.iter().enumerate() {
        let property = &items["properties"][*name];
        if !property.is_object() {
            let why = "entries must all be names of item properties";
            errors.push(FieldError::invalid(at_keys.as_str(), keys.clone(), why));
        } else if matches!(property["type"].as_str(), Some("array" | "object")) {
            let path = format!("{path}.items.properties[{name}].type");
            let why = "must be a scalar type if parent array's x-kubernetes-list-type is map";
            errors.push(FieldError::invalid(path, items["type"].clone(), why));
        }
        if names[..index].contains(name) {
            let why = "must not contain duplicate entries";
            errors.push(FieldError::invalid(at_keys.as_str(), keys.clone(), why));
        }
    }
}

/// Checks that the items of sets and maps are not null, and that the keys of maps are always set.
fn list_keys(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let items = &schema["items"];
    let Some(kind @ ("set" | "map")) = schema["x-kubernetes-list-type"].as_str() else {
        return;
    };
    if flag(items, "nullable") {
        let why = format!("cannot be nullable when x-kubernetes-list-type is {kind}");
        errors.push(FieldError::forbidden(format!("{path}.items.nullable"), why));
    }
    if kind != "map" {
        return;
    }
    for name in list(schema, "x-kubernetes-list-map-keys").filter_map(Value::as_str) {
        let Some(property) = items["properties"].get(name) else {
            continue;
        };
        let path = format!("{path}.items.properties[{name}]");
        let is_key = "this property is in x-kubernetes-list-map-keys, so it";
        let required = list(items, "required").any(|it| *it == *name);
        if !required && property.get("default").is_none_or(Value::is_null) {
            let why = format!("{is_key} must have a default or be a required property");
            errors.push(FieldError::required(format!("{path}.default"), why));
        }
        if flag(property, "nullable") {
            let why = format!("{is_key} cannot be nullable");
            errors.push(FieldError::forbidden(format!("{path}.nullable"), why));
        }
    }
}
