//! `/openapi/v2`: the definitions of all kinds, without paths.

use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::{Map, Value, json};

use super::custom::{CustomVersion, definition_of, list_definition};
use super::document::FILE;
use crate::VERSION;
use crate::schema::builtin::unpack;

/// A document without definitions as protobuf. Clients that have v3 ask for no more.
pub(crate) const V2: &[u8] = b"\n\x032.0\x12\x09\n\x04mini\x12\x011B\0";

/// The keywords that Swagger does not have.
const JUNCTORS: [&str; 4] = ["allOf", "anyOf", "oneOf", "not"];

/// The members of `definitions` for the built-in kinds, each with a comma after it.
static BUILTIN: LazyLock<String> = LazyLock::new(|| {
    let mut members = String::new();
    for (name, schema) in unpack(FILE)["schemas"].as_object().into_iter().flatten() {
        write(&mut members, name, schema.clone());
    }
    members
});

/// Returns the document as JSON.
pub(crate) fn v2(custom: &[CustomVersion<'_>]) -> String {
    let mut members = BUILTIN.clone();
    for one in custom {
        write(&mut members, &one.model(one.kind), definition(one));
        write(
            &mut members,
            &one.model(one.list_kind),
            list_definition(one),
        );
    }
    let info = json!({"title": "Kubernetes", "version": VERSION});
    let members = members.trim_end_matches(',');
    format!(r#"{{"swagger":"2.0","info":{info},"paths":{{}},"definitions":{{{members}}}}}"#)
}

fn write(members: &mut String, name: &str, mut schema: Value) {
    translate(&mut schema);
    // Writing to a string cannot fail.
    let _ = write!(members, "{}:{schema},", json!(name));
}

/// Returns the definition of a custom resource, without what clients of v2 cannot read.
///
/// <https://github.com/kubernetes/apiextensions-apiserver/blob/master/pkg/controller/openapi/v2/conversion.go>
fn definition(one: &CustomVersion<'_>) -> Value {
    let preserves = |schema: &Value| schema["x-kubernetes-preserve-unknown-fields"] == true;
    if one.schema.is_none_or(preserves) {
        return definition_of(one, None, &|_| {});
    }
    definition_of(one, one.schema, &simplify)
}

fn simplify(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    members.retain(|name, _| !JUNCTORS.contains(&name.as_str()));
    let is_nullable = members.remove("nullable") == Some(Value::Bool(true));
    let preserves = members.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
    if is_nullable || preserves {
        members.remove("items");
        members.remove("properties");
    }
    let kind = members.get("type").and_then(Value::as_str);
    let has_items = members.contains_key("items");
    if is_nullable || preserves && kind == Some("object") || kind == Some("array") && !has_items {
        members.remove("type");
    }
    release_nullable(members);
    let properties = members.get_mut("properties").and_then(Value::as_object_mut);
    properties
        .into_iter()
        .flat_map(Map::values_mut)
        .for_each(simplify);
    for key in ["items", "additionalProperties"] {
        if let Some(below) = members.get_mut(key) {
            simplify(below);
        }
    }
}

/// Removes nullable properties from the required ones.
fn release_nullable(members: &mut Map<String, Value>) {
    let is_nullable = |schema: &Value| schema["nullable"] == true;
    if members.get("additionalProperties").is_some_and(is_nullable) {
        members.remove("required");
    }
    let properties = members
        .get("properties")
        .and_then(Value::as_object)
        .cloned();
    let Some(Value::Array(required)) = members.get_mut("required") else {
        return;
    };
    let properties = properties.unwrap_or_default();
    required.retain(|name| {
        let property = name.as_str().and_then(|name| properties.get(name));
        !property.is_some_and(is_nullable)
    });
    if required.is_empty() {
        members.remove("required");
    }
}

/// Rewrites references, and types that version 3 writes as alternatives, such as quantities.
fn translate(schema: &mut Value) {
    match schema {
        Value::Array(items) => items.iter_mut().for_each(translate),
        Value::Object(members) => {
            let reference = members
                .get("allOf")
                .and_then(|all| all.pointer("/0/$ref"))
                .cloned();
            if let Some(reference) = reference {
                members.remove("allOf");
                members.insert("$ref".to_owned(), reference);
            }
            if let Some(Value::String(reference)) = members.get_mut("$ref") {
                *reference = reference.replace("#/components/schemas/", "#/definitions/");
            }
            if members.get("oneOf").is_some_and(Value::is_array) {
                members.remove("oneOf");
                members.insert("type".to_owned(), "string".into());
            }
            members.values_mut().for_each(translate);
        }
        _ => {}
    }
}
