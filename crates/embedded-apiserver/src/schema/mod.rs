//! Schemas: the type of each field of an object, for built-in kinds and custom resources alike.
//!
//! Server-side apply, strategic merge patches, strict decoding and OpenAPI use the same nodes.

pub(crate) mod builtin;
pub(crate) mod canonical;
pub(crate) mod decode;
pub(crate) mod mismatch;
pub(crate) mod node;
mod open_api;
pub(crate) mod strict;
pub(crate) mod unstructured;

use std::sync::Arc;

use serde_json::{Value, json};

use self::{
    builtin::BUILTIN,
    node::{Id, Node},
    open_api::{Arena, DEDUCED, OBJECT_META},
};

/// The type of the objects of a kind. Cloning only increments a reference count.
#[derive(Clone, Debug)]
pub struct Schema {
    arena: Arc<Arena>,
    root: Id,
}

/// The type of one value in an object.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Type<'a> {
    arena: &'a Arena,
    id: Id,
}

impl Schema {
    /// Returns the schema of a built-in kind.
    pub fn builtin(group: &str, version: &str, kind: &str) -> Option<Self> {
        let root = BUILTIN.kind(group, version, kind)?;
        Some(Self {
            arena: Arc::clone(&BUILTIN.arena),
            root,
        })
    }

    /// Returns the schema of a custom resource's version from its `openAPIV3Schema`, or from `null` if it has
    /// none.
    ///
    /// Adds `apiVersion`, `kind` and `metadata` to the schema and to embedded resources.
    pub fn custom(open_api_v3_schema: &Value) -> Self {
        let mut arena = BUILTIN.seed();
        let mut schema = open_api_v3_schema.clone();
        if !schema.is_object() {
            schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        }
        complete_embedded(&mut schema);
        complete(&mut schema);
        let node = arena.convert(&schema, false);
        let root = arena.add(node);
        Self {
            arena: Arc::new(arena),
            root,
        }
    }

    /// Returns a schema that accepts everything, for kinds without a schema.
    pub fn unknown() -> Self {
        Self {
            arena: Arc::new(Arena::new()),
            root: DEDUCED,
        }
    }

    /// Returns the type of the whole object.
    pub(crate) fn root(&self) -> Type<'_> {
        Type {
            arena: &self.arena,
            id: self.root,
        }
    }
}

impl<'a> Type<'a> {
    pub(crate) fn node(self) -> &'a Node {
        self.arena.node(self.id)
    }

    /// Returns another type of the same schema.
    pub(crate) fn at(self, id: Id) -> Self {
        Self { id, ..self }
    }

    /// Returns the type of the value of a key, or nothing if the map does not allow the key.
    pub(crate) fn child(self, key: &str) -> Option<Self> {
        let map = self.node().map.as_ref()?;
        map.child(key).map(|id| self.at(id))
    }
}

/// Adds the fields that every object has to a schema.
fn complete(schema: &mut Value) {
    let reference = format!("#/components/schemas/{OBJECT_META}");
    if !schema["properties"].is_object() {
        schema["properties"] = json!({});
    }
    schema["properties"]["apiVersion"] = json!({"type": "string"});
    schema["properties"]["kind"] = json!({"type": "string"});
    schema["properties"]["metadata"] = json!({"$ref": reference});
}

fn complete_embedded(schema: &mut Value) {
    let Some(members) = schema.as_object_mut() else {
        return;
    };
    if let Some(Value::Object(properties)) = members.get_mut("properties") {
        properties.values_mut().for_each(complete_embedded);
    }
    for key in ["items", "additionalProperties"] {
        if let Some(below) = members.get_mut(key) {
            complete_embedded(below);
        }
    }
    if members.get("x-kubernetes-embedded-resource") == Some(&Value::Bool(true)) {
        complete(schema);
    }
}

#[cfg(test)]
mod tests;
