//! Checks that a schema is structural: that it contains the type of each field outside of junctors.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#specifying-a-structural-schema>

use serde_json::{Value, json};

use crate::crd::Pattern;
use crate::crd::structural::{flag, list, object, text};
use crate::error::FieldError;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Level {
    Root,
    Item,
    Field,
}

/// Returns the reasons that a schema is not structural, sorted.
pub(super) fn errors(schema: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, Level::Root, path, &mut errors);
    // Only the junctors of the root are compared with the structure.
    junctors_are_known(schema, schema, path, path, &mut errors);
    errors.sort_by_key(ToString::to_string);
    errors
}

/// Returns the schema of a key, if it is an object.
fn child<'a>(schema: &'a Value, key: &str) -> Option<&'a Value> {
    schema.get(key).filter(|it| it.is_object())
}

fn node(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let kind = text(schema, "type");
    if kind.as_deref() == Some("array") && child(schema, "items").is_none() {
        errors.push(FieldError::required(
            format!("{path}.items"),
            "must be specified",
        ));
    }
    if let Some(items) = child(schema, "items") {
        node(items, Level::Item, &format!("{path}.items"), errors);
    }
    for (name, property) in object(schema, "properties") {
        node(
            property,
            Level::Field,
            &format!("{path}.properties[{name}]"),
            errors,
        );
    }
    if let Some(additional) = schema
        .get("additionalProperties")
        .filter(|it| !it.is_null())
    {
        let path = format!("{path}.additionalProperties");
        if level == Level::Root {
            errors.push(FieldError::forbidden(
                path.as_str(),
                "must not be used at the root",
            ));
        }
        if additional.is_object() {
            node(additional, Level::Field, &path, errors);
        }
    }
    extensions(schema, path, errors);
    values(
        schema,
        any_of_is_int_or_string(schema),
        all_of_is_int_or_string(schema),
        path,
        errors,
    );
    types(schema, kind.as_deref(), level, path, errors);
    metadata(schema, level, path, errors);
}

fn extensions(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !flag(schema, "x-kubernetes-int-or-string") {
        return;
    }
    for key in [
        "x-kubernetes-preserve-unknown-fields",
        "x-kubernetes-embedded-resource",
    ] {
        if flag(schema, key) {
            let why = "must be false if x-kubernetes-int-or-string is true";
            errors.push(FieldError::invalid(format!("{path}.{key}"), true, why));
        }
    }
}

fn types(
    schema: &Value,
    kind: Option<&str>,
    level: Level,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    let at = format!("{path}.type");
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let free = flag(schema, "x-kubernetes-int-or-string")
        || flag(schema, "x-kubernetes-preserve-unknown-fields");
    match kind {
        Some("object") => {}
        None if embedded => {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::required(at.as_str(), why));
        }
        Some(kind) if embedded => {
            let why = "must be object if x-kubernetes-embedded-resource is true";
            errors.push(FieldError::invalid(at.as_str(), kind, why));
        }
        None if !free => errors.push(FieldError::required(
            at.as_str(),
            match level {
                Level::Root => "must not be empty at the root",
                Level::Item => "must not be empty for specified array items",
                Level::Field => "must not be empty for specified object fields",
            },
        )),
        _ => {}
    }
    if embedded && schema.get("additionalProperties").is_some() {
        let why = "must not be used if x-kubernetes-embedded-resource is set";
        errors.push(FieldError::forbidden(
            format!("{path}.additionalProperties"),
            why,
        ));
    }
    if level == Level::Root && kind.is_some_and(|kind| kind != "object") {
        errors.push(FieldError::invalid(at, kind, "must be object at the root"));
    }
}

/// Checks the schemas of apiVersion, kind and metadata. The server defines these fields, so a schema can
/// restrict only little of them.
fn metadata(schema: &Value, level: Level, path: &str, errors: &mut Vec<FieldError>) {
    let embedded = flag(schema, "x-kubernetes-embedded-resource");
    let properties = &schema["properties"];
    if level == Level::Root || embedded {
        for (key, wanted) in [
            ("kind", "string"),
            ("apiVersion", "string"),
            ("metadata", "object"),
        ] {
            let kind = properties[key]["type"].as_str().unwrap_or_default();
            if properties[key].is_object() && kind != wanted {
                let path = format!("{path}.properties[{key}].type");
                errors.push(FieldError::invalid(path, kind, format!("must be {wanted}")));
            }
        }
    }
    if level == Level::Root
        && properties["metadata"].is_object()
        && !is_plain(&properties["metadata"])
    {
        errors.push(FieldError::forbidden(
            format!("{path}.properties[metadata]"),
            "must not specify anything other than name and generateName, but metadata is \
             implicitly specified",
        ));
    }
    if embedded
        && !flag(schema, "x-kubernetes-preserve-unknown-fields")
        && object(schema, "properties").next().is_none()
    {
        errors.push(FieldError::required(
            format!("{path}.properties"),
            "must not be empty if x-kubernetes-embedded-resource is true without \
             x-kubernetes-preserve-unknown-fields",
        ));
    }
}

/// Returns whether a schema of metadata restricts only the names.
fn is_plain(metadata: &Value) -> bool {
    let allowed = |key: &str| matches!(key, "type" | "default" | "properties");
    metadata
        .as_object()
        .is_some_and(|keys| keys.keys().all(|key| allowed(key)))
        && object(metadata, "properties")
            .all(|(key, _)| matches!(key.as_str(), "name" | "generateName"))
}

fn any_of_is_int_or_string(schema: &Value) -> bool {
    schema.get("anyOf") == Some(&json!([{"type": "integer"}, {"type": "string"}]))
}

fn all_of_is_int_or_string(schema: &Value) -> bool {
    list(schema, "allOf")
        .next()
        .is_some_and(any_of_is_int_or_string)
}

/// Checks the junctors and the pattern of a schema.
fn values(
    schema: &Value,
    skip_any_of: bool,
    skip_first_all_of: bool,
    path: &str,
    errors: &mut Vec<FieldError>,
) {
    if !skip_any_of {
        for (index, inner) in list(schema, "anyOf").enumerate() {
            nested(inner, false, &format!("{path}.anyOf[{index}]"), errors);
        }
    }
    for (index, inner) in list(schema, "allOf").enumerate() {
        nested(
            inner,
            skip_first_all_of && index == 0,
            &format!("{path}.allOf[{index}]"),
            errors,
        );
    }
    for (index, inner) in list(schema, "oneOf").enumerate() {
        nested(inner, false, &format!("{path}.oneOf[{index}]"), errors);
    }
    if let Some(not) = child(schema, "not") {
        nested(not, false, &format!("{path}.not"), errors);
    }
    if let Some(pattern) = text(schema, "pattern")
        && let Err(why) = Pattern::compile(&pattern)
    {
        let why = format!("must be a valid regular expression, but isn't: {why}");
        errors.push(FieldError::invalid(format!("{path}.pattern"), pattern, why));
    }
}

/// The fields of a schema that are forbidden below a junctor.
const FORBIDDEN: [(&str, &str); 12] = [
    ("type", "must be empty to be structural"),
    ("default", "must be undefined to be structural"),
    ("title", "must be empty to be structural"),
    ("description", "must be empty to be structural"),
    ("nullable", "must be false to be structural"),
    (
        "x-kubernetes-preserve-unknown-fields",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-embedded-resource",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-int-or-string",
        "must be false to be structural",
    ),
    (
        "x-kubernetes-list-map-keys",
        "must be empty to be structural",
    ),
    (
        "x-kubernetes-list-type",
        "must be undefined to be structural",
    ),
    (
        "x-kubernetes-map-type",
        "must be undefined to be structural",
    ),
    ("x-kubernetes-validations", "must be empty to be structural"),
];

fn nested(schema: &Value, skip_any_of: bool, path: &str, errors: &mut Vec<FieldError>) {
    values(schema, skip_any_of, false, path, errors);
    if let Some(items) = child(schema, "items") {
        nested(items, false, &format!("{path}.items"), errors);
    }
    for (name, property) in object(schema, "properties") {
        nested(
            property,
            false,
            &format!("{path}.properties[{name}]"),
            errors,
        );
    }
    for (key, why) in FORBIDDEN {
        let is_set = match schema.get(key) {
            None | Some(Value::Null | Value::Bool(false)) => false,
            Some(Value::String(text)) => !text.is_empty() || key.ends_with("-type"),
            Some(Value::Array(items)) => !items.is_empty(),
            Some(_) => true,
        };
        if is_set {
            errors.push(FieldError::forbidden(format!("{path}.{key}"), why));
        }
    }
    if matches!(
        schema.get("additionalProperties"),
        Some(Value::Object(_) | Value::Bool(true))
    ) {
        let why = "must be undefined to be structural";
        errors.push(FieldError::forbidden(
            format!("{path}.additionalProperties"),
            why,
        ));
    }
    if schema["properties"]["metadata"].is_object() {
        let why = "must not be specified in a nested context";
        errors.push(FieldError::forbidden(
            format!("{path}.properties[metadata]"),
            why,
        ));
    }
}

/// Checks that the structure contains each field that a junctor contains.
fn junctors_are_known(
    values: &Value,
    schema: &Value,
    path: &str,
    from: &str,
    errors: &mut Vec<FieldError>,
) {
    if let Some(not) = child(values, "not") {
        is_known(not, Some(schema), path, &format!("{from}.not"), errors);
    }
    for key in ["allOf", "anyOf", "oneOf"] {
        for (index, inner) in list(values, key).enumerate() {
            is_known(
                inner,
                Some(schema),
                path,
                &format!("{from}.{key}[{index}]"),
                errors,
            );
        }
    }
}

fn is_known(
    values: &Value,
    schema: Option<&Value>,
    path: &str,
    from: &str,
    errors: &mut Vec<FieldError>,
) {
    let Some(schema) = schema else {
        errors.push(FieldError::required(
            path,
            format!("because it is defined in {from}"),
        ));
        return;
    };
    junctors_are_known(values, schema, path, from, errors);
    if let Some(items) = child(values, "items") {
        let below = child(schema, "items");
        is_known(
            items,
            below,
            &format!("{path}.items"),
            &format!("{from}.items"),
            errors,
        );
    }
    for (name, property) in object(values, "properties") {
        let step = format!(".properties[{name}]");
        let below = schema["properties"].get(name);
        is_known(
            property,
            below,
            &format!("{path}{step}"),
            &format!("{from}{step}"),
            errors,
        );
    }
}
