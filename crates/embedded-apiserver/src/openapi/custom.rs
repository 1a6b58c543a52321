//! The OpenAPI documents of custom resources, which are derived from those of built-in kinds with the same
//! scope.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};

use super::document::{expanded, hex, whole};

/// A served version of a custom resource.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CustomVersion<'a> {
    /// `example.com`
    pub group: &'a str,
    /// `v1`
    pub version: &'a str,
    /// `Widget`
    pub kind: &'a str,
    /// `WidgetList`
    pub list_kind: &'a str,
    /// `widgets`
    pub plural: &'a str,
    pub namespaced: bool,
    /// The `openAPIV3Schema`.
    pub schema: Option<&'a Value>,
    /// True if `/status` is served.
    pub status: bool,
    /// True if `/scale` is served.
    pub scale: bool,
}

/// The names of a built-in kind, which are replaced by those of a custom resource.
struct Template {
    document: &'static str,
    path: &'static str,
    kind: &'static str,
    model: &'static str,
    camel: &'static str,
    tag: &'static str,
}

const NAMESPACED: Template = Template {
    document: "apis/apps/v1",
    path: "/apis/apps/v1/namespaces/{namespace}/deployments",
    kind: "Deployment",
    model: "io.k8s.api.apps.v1.Deployment",
    camel: "AppsV1",
    tag: "apps_v1",
};

const CLUSTER: Template = Template {
    document: "apis/apiextensions.k8s.io/v1",
    path: "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
    kind: "CustomResourceDefinition",
    model: "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions.v1.CustomResourceDefinition",
    camel: "ApiextensionsV1",
    tag: "apiextensions_v1",
};

/// The media types of custom resources, without protobuf and strategic merge patch.
const MEDIA_TYPES: [&str; 5] = [
    "application/json",
    "application/yaml",
    "application/apply-patch+yaml",
    "application/json-patch+json",
    "application/merge-patch+json",
];

impl CustomVersion<'_> {
    /// Returns the path of the document that contains the resource.
    pub(super) fn path(&self) -> String {
        format!("apis/{}/{}", self.group, self.version)
    }

    fn template(&self) -> &'static Template {
        if self.namespaced {
            &NAMESPACED
        } else {
            &CLUSTER
        }
    }

    /// Returns the name of the definition: `com.example.v1.Widget`.
    pub(super) fn model(&self, kind: &str) -> String {
        let mut parts: Vec<&str> = self.group.split('.').collect();
        parts.reverse();
        format!("{}.{}.{kind}", parts.join("."), self.version)
    }

    /// Returns the group in camel case: `exampleCom`.
    fn camel(&self) -> String {
        let words = self.group.split(['.', '-']).enumerate();
        words
            .map(|(place, word)| {
                if place == 0 {
                    word.to_owned()
                } else {
                    capital(word)
                }
            })
            .collect()
    }

    fn kind_of(&self, kind: &str) -> Value {
        json!([{"group": self.group, "kind": kind, "version": self.version}])
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map_or_else(String::new, |first| {
        first.to_uppercase().chain(letters).collect()
    })
}

pub(super) fn hash(kinds: &[&CustomVersion<'_>]) -> String {
    let mut digest = Sha512::new();
    for one in kinds {
        digest.update(format!("{one:?}"));
    }
    hex(digest.finalize().as_slice())
}

/// Returns the document of one group and version.
pub(super) fn document(file: &Map<String, Value>, kinds: &[&CustomVersion<'_>]) -> String {
    let mut paths = Map::new();
    let mut schemas = Map::new();
    for one in kinds {
        operations(file, one, &mut paths);
        schemas.insert(one.model(one.kind), definition(one));
        schemas.insert(one.model(one.list_kind), list_definition(one));
    }
    let mut wanted = BTreeSet::new();
    paths
        .values()
        .chain(schemas.values())
        .for_each(|value| references(value, &mut wanted));
    while let Some(name) = wanted.pop_first() {
        let known = file["schemas"].get(&name);
        if let (Some(schema), false) = (known, schemas.contains_key(&name)) {
            references(schema, &mut wanted);
            schemas.insert(name, schema.clone());
        }
    }
    let mut document = whole(paths, schemas);
    document["info"] = json!({"title": "Kubernetes CRD Swagger", "version": "v0.1.0"});
    if let Some(components) = document["components"].as_object_mut() {
        components.remove("securitySchemes");
    }
    document.to_string()
}

/// Adds the names of the definitions that a part of a document refers to.
fn references(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(fields) => {
            if let Some(Value::String(reference)) = fields.get("$ref") {
                found.extend(reference.rsplit('/').next().map(ToOwned::to_owned));
            }
            fields.values().for_each(|field| references(field, found));
        }
        Value::Array(items) => items.iter().for_each(|item| references(item, found)),
        _ => {}
    }
}

fn operations(file: &Map<String, Value>, one: &CustomVersion<'_>, paths: &mut Map<String, Value>) {
    let template = one.template();
    let known = &file["documents"][template.document]["paths"];
    let root = format!("/{}", one.path());
    let collection = if one.namespaced {
        format!("{root}/namespaces/{{namespace}}/{}", one.plural)
    } else {
        format!("{root}/{}", one.plural)
    };
    let mut add = |from: &str, to: String| {
        let mut item = adapted(&expanded(file, &known[from]), one);
        if let Some(Value::Object(responses)) = item.pointer_mut("/patch/responses") {
            responses.remove("201");
        }
        paths.insert(to, item);
    };
    if one.namespaced {
        add(
            "/apis/apps/v1/deployments",
            format!("{root}/{}", one.plural),
        );
    }
    add(template.path, collection.clone());
    add(
        &format!("{}/{{name}}", template.path),
        format!("{collection}/{{name}}"),
    );
    if one.status {
        let from = format!("{}/{{name}}/status", template.path);
        add(&from, format!("{collection}/{{name}}/status"));
    }
    if one.scale && one.namespaced {
        let from = format!("{}/{{name}}/scale", template.path);
        add(&from, format!("{collection}/{{name}}/scale"));
    }
}

/// Returns a part of a template with the names and media types of the custom resource.
fn adapted(value: &Value, one: &CustomVersion<'_>) -> Value {
    match value {
        Value::String(text) => Value::String(renamed(text, one)),
        Value::Array(items) => items.iter().map(|item| adapted(item, one)).collect(),
        Value::Object(fields) => {
            if fields.contains_key("group") && fields.contains_key("kind") {
                return kind_of(fields, one);
            }
            if let Some(any) = fields.get("*/*") {
                let body = adapted(any, one);
                return json!({"application/json": body, "application/yaml": body});
            }
            let kept = fields.iter().filter(|(name, _)| {
                !name.starts_with("application/") || MEDIA_TYPES.contains(&name.as_str())
            });
            let adapted = kept.map(|(name, field)| (name.clone(), adapted(field, one)));
            Value::Object(adapted.collect())
        }
        other => other.clone(),
    }
}

fn kind_of(fields: &Map<String, Value>, one: &CustomVersion<'_>) -> Value {
    let template = one.template();
    if fields["kind"] == template.kind {
        return json!({"group": one.group, "version": one.version, "kind": one.kind});
    }
    Value::Object(fields.clone())
}

fn renamed(text: &str, one: &CustomVersion<'_>) -> String {
    let template = one.template();
    let camel = capital(&one.camel()) + &capital(one.version);
    let list = format!("{}List", template.model);
    text.replace(&list, &one.model(one.list_kind))
        .replace(template.model, &one.model(one.kind))
        .replace(template.camel, &camel)
        .replace(template.tag, &format!("{}_{}", one.camel(), one.version))
        .replace(template.kind, one.kind)
        .replace("list or watch objects", "list objects")
}

const API_VERSION: &str = "APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const KIND: &str = "Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const EMBEDDED_API_VERSION: &str = "apiVersion defines the versioned schema of this representation of an object. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#resources";
const EMBEDDED_KIND: &str = "kind is a string value representing the type of this object. In CamelCase. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const METADATA: &str = "Standard object's metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";
const LIST_METADATA: &str = "Standard list metadata. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#types-kinds";
const META: &str = "#/components/schemas/io.k8s.apimachinery.pkg.apis.meta.v1.";

fn definition(one: &CustomVersion<'_>) -> Value {
    definition_of(one, one.schema, &|_| {})
}

/// Returns the definition with a schema, which a function changes below the fields of every object.
pub(super) fn definition_of(
    one: &CustomVersion<'_>,
    schema: Option<&Value>,
    change: &dyn Fn(&mut Value),
) -> Value {
    let mut schema = schema.filter(|schema| schema.is_object()).cloned();
    if let Some(schema) = &mut schema {
        published(schema);
        change(schema);
        with_object_fields(schema, API_VERSION, KIND);
    }
    let mut schema = schema.unwrap_or_else(|| json!({"type": "object"}));
    schema["x-kubernetes-group-version-kind"] = one.kind_of(one.kind);
    schema
}

/// Adds the fields that every object has to a schema.
fn with_object_fields(schema: &mut Value, api_version: &str, kind: &str) {
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    schema["properties"]["apiVersion"] = json!({"description": api_version, "type": "string"});
    schema["properties"]["kind"] = json!({"description": kind, "type": "string"});
    schema["properties"]["metadata"] =
        json!({"description": METADATA, "allOf": [{"$ref": format!("{META}ObjectMeta")}]});
}

/// Adds the types of int-or-string values and the fields of embedded resources below the root.
fn published(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        properties.values_mut().for_each(published);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(below) = members.get_mut(key) {
            published(below);
        }
    }
    if members.get("x-kubernetes-int-or-string") == Some(&Value::Bool(true)) {
        let types = json!([{"type": "integer"}, {"type": "string"}]);
        members.entry("anyOf").or_insert(types);
    }
    if members.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        let required = members.entry("required").or_insert_with(|| json!([]));
        for name in ["kind", "apiVersion"] {
            if let Some(names) = required.as_array_mut()
                && !names.iter().any(|known| known == name)
            {
                names.push(name.into());
            }
        }
        with_object_fields(schema, EMBEDDED_API_VERSION, EMBEDDED_KIND);
    }
}

pub(super) fn list_definition(one: &CustomVersion<'_>) -> Value {
    let guide =
        "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
    json!({
        "description": format!("{} is a list of {}", one.list_kind, one.kind),
        "type": "object",
        "required": ["items"],
        "properties": {
            "apiVersion": {"description": API_VERSION, "type": "string"},
            "kind": {"description": KIND, "type": "string"},
            "metadata": {
                "description": LIST_METADATA,
                "allOf": [{"$ref": format!("{META}ListMeta")}],
            },
            "items": {
                "description": format!("List of {}. More info: {guide}", one.plural),
                "type": "array",
                "items": {"$ref": format!("#/components/schemas/{}", one.model(one.kind))},
            },
        },
        "x-kubernetes-group-version-kind": one.kind_of(one.list_kind),
    })
}
