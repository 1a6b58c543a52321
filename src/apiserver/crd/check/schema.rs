//! The OpenAPI schema of a version: what may stand in it, and the extensions of Kubernetes.

use serde_json::Value;

use super::{defaults, rule, structure};
use crate::apiserver::crd::structural::{Structural, flag, list, object, text};
use crate::apiserver::error::FieldError;

const TYPES: [&str; 6] = ["array", "boolean", "integer", "number", "object", "string"];

/// Where in a schema a node stands, in so far as that changes what it may say.
#[derive(Clone, Copy, Default)]
struct Scope<'a> {
    is_root: bool,
    in_metadata: bool,
    /// Why no default may stand here.
    no_defaults: Option<&'a str>,
    /// The path of the list or map whose items cannot be matched with those of the old state.
    uncorrelated: Option<&'a str>,
    /// Whether rules are compiled: not below junctors, and not where the schema is wrong anyway.
    with_rules: bool,
}

/// What was found; rules are compiled only where the schema itself is right.
#[derive(Default)]
struct Errors {
    schema: Vec<FieldError>,
    rules: Vec<FieldError>,
}

/// Checks the schema of a version; there may be none.
pub(super) fn check_root(
    schema: &Value,
    path: &str,
    with_status: bool,
    errors: &mut Vec<FieldError>,
) {
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
    let scope = Scope {
        is_root: true,
        with_rules: readable && before.is_empty(),
        ..Scope::default()
    };
    errors.extend(before);
    let found = node(schema, path, scope);
    errors.extend(found.schema);
    errors.extend(found.rules);
}

/// With a status subresource the status is checked by its own property only: nothing at the root
/// may speak of it.
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

/// Whether nothing stands in a schema that the structure has no place for.
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

fn node(schema: &Value, path: &str, scope: Scope<'_>) -> Errors {
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
    map_type(schema, path, &mut errors.schema);
    list_type(schema, path, &mut errors.schema);
    list_map(schema, path, &mut errors.schema);
    list_keys(schema, path, &mut errors.schema);
    rule::texts(schema, path, &mut errors.schema);
    if scope.with_rules && errors.schema.is_empty() {
        let is_resource = scope.is_root || flag(schema, "x-kubernetes-embedded-resource");
        rule::check(
            schema,
            is_resource,
            path,
            scope.uncorrelated,
            &mut errors.rules,
        );
    }
    errors
}

impl Errors {
    fn append(&mut self, other: Self) {
        self.schema.extend(other.schema);
        self.rules.extend(other.rules);
    }
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

/// An extension that goes with one type only.
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
        // The server shows the list type of the items in both cases.
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

/// Lists whose items are told apart by keys: the keys are scalar properties of the items.
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

/// Items and keys of sets and maps are always there.
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
