//! Converts OpenAPI v3 schemas to nodes, as `schemaconv` of kube-openapi does.

use std::collections::HashMap;

use serde_json::{Map as Object, Value};

use super::node::{Field, Id, List, Map, Node, Relation, Scalar, Strategy, Write};

const QUANTITY: &str = "io.k8s.apimachinery.pkg.api.resource.Quantity";
const RAW_EXTENSION: &str = "io.k8s.apimachinery.pkg.runtime.RawExtension";
pub(super) const OBJECT_META: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta";

/// The type of any value, as one atomic value.
pub(super) const UNTYPED: Id = 0;
/// The type of any value. Managers own the fields of its maps separately.
pub(super) const DEDUCED: Id = 1;

/// All types of a set of definitions, or of one custom resource.
#[derive(Debug)]
pub(crate) struct Arena {
    nodes: Vec<Node>,
    names: HashMap<String, Id>,
    /// References that set the atomicity of the type that they refer to: the node to fill, the referenced
    /// node, and whether it is atomic.
    overrides: Vec<(Id, Id, bool)>,
}

impl Arena {
    /// Returns an arena with the two types that every schema has.
    pub(super) fn new() -> Self {
        let anything = |below: Id, atomic: bool| Node {
            scalar: Some(Scalar::Untyped),
            list: Some(List {
                items: UNTYPED,
                relation: Relation::Atomic,
            }),
            map: Some(Map {
                rest: Some(below),
                atomic,
                free: true,
                ..Map::default()
            }),
            ..Node::default()
        };
        Self {
            nodes: vec![anything(UNTYPED, true), anything(DEDUCED, false)],
            names: HashMap::new(),
            overrides: Vec::new(),
        }
    }

    /// Returns the types of all definitions of a document's `components.schemas`.
    pub(super) fn of_definitions(definitions: &Object<String, Value>) -> Self {
        let mut arena = Self::new();
        for name in definitions.keys() {
            let id = arena.add(Node::default());
            arena.names.insert(name.clone(), id);
        }
        for (name, schema) in definitions {
            let id = arena.names[name];
            arena.nodes[id] = arena.definition(name, schema);
        }
        for (id, target, atomic) in std::mem::take(&mut arena.overrides) {
            let mut node = arena.nodes[target].clone();
            if let Some(map) = &mut node.map {
                map.atomic = atomic;
            } else if let Some(list) = &mut node.list
                && atomic
            {
                list.relation = Relation::Atomic;
            }
            arena.nodes[id] = node;
        }
        arena
    }

    pub(crate) fn node(&self, id: Id) -> &Node {
        &self.nodes[id]
    }

    pub(super) fn named(&self, name: &str) -> Option<Id> {
        self.names.get(name).copied()
    }

    pub(super) fn add(&mut self, node: Node) -> Id {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// Copies a type of another arena, with all types that it refers to.
    pub(super) fn import(&mut self, other: &Self, name: &str) {
        if let Some(id) = other.named(name) {
            let copy = self.copy(other, id, &mut HashMap::new());
            self.names.insert(name.to_owned(), copy);
        }
    }

    fn copy(&mut self, other: &Self, id: Id, done: &mut HashMap<Id, Id>) -> Id {
        if id <= DEDUCED {
            return id;
        }
        if let Some(copy) = done.get(&id) {
            return *copy;
        }
        let copy = self.add(Node::default());
        done.insert(id, copy);
        let mut node = other.nodes[id].clone();
        if let Some(list) = &mut node.list {
            list.items = self.copy(other, list.items, done);
        }
        if let Some(map) = &mut node.map {
            map.rest = map.rest.map(|rest| self.copy(other, rest, done));
            for (_, field) in &mut map.fields {
                field.node = self.copy(other, field.node, done);
            }
        }
        self.nodes[copy] = node;
        copy
    }

    fn definition(&mut self, name: &str, schema: &Value) -> Node {
        let mut node = match name {
            QUANTITY => Node {
                scalar: Some(Scalar::Untyped),
                ..Node::default()
            },
            RAW_EXTENSION => self.nodes[UNTYPED].clone(),
            _ => self.convert(schema, false),
        };
        node.go = text(schema, "x-go-type").map(Into::into);
        node
    }

    /// Converts a schema to a type. `preserve` is true if a parent keeps unknown fields.
    pub(super) fn convert(&mut self, schema: &Value, preserve: bool) -> Node {
        let preserve = preserve || flag(schema, "x-kubernetes-preserve-unknown-fields");
        let mut node = Node::default();
        match text(schema, "type") {
            Some("object") => node.map = Some(self.object(schema, preserve)),
            Some("array") => node.list = Some(self.list(schema, preserve)),
            Some("integer" | "number") => node.scalar = Some(Scalar::Numeric),
            Some("boolean") => node.scalar = Some(Scalar::Boolean),
            // Strings with a format other than `byte`, such as `date-time` and `int-or-string`, can have
            // other JSON types.
            Some("string") => {
                node.scalar = Some(match text(schema, "format") {
                    None | Some("" | "byte") => Scalar::String,
                    Some(_) => Scalar::Untyped,
                });
            }
            _ => {
                node.scalar = Some(Scalar::Untyped);
                node.list = Some(self.list(schema, preserve));
                node.map = Some(self.object(schema, preserve));
            }
        }
        node
    }

    fn object(&mut self, schema: &Value, preserve: bool) -> Map {
        let mut fields = Vec::new();
        // Fields must be sorted. Maps of serde_json are.
        for (name, property) in schema["properties"].as_object().into_iter().flatten() {
            fields.push((name.as_str().into(), self.field(property, preserve)));
        }
        let rest = match &schema["additionalProperties"] {
            Value::Null if preserve || fields.is_empty() => Some(DEDUCED),
            Value::Null | Value::Bool(false) => None,
            Value::Bool(true) => Some(DEDUCED),
            values => Some(self.reference(values, preserve)),
        };
        fields.sort_by(|(one, _): &(Box<str>, Field), (other, _)| one.cmp(other));
        Map {
            fields,
            rest,
            atomic: text(schema, "x-kubernetes-map-type") == Some("atomic"),
            free: preserve,
        }
    }

    fn field(&mut self, property: &Value, preserve: bool) -> Field {
        let strategy = text(property, "x-kubernetes-patch-strategy").unwrap_or_default();
        Field {
            node: self.reference(property, preserve),
            default: property.get("default").cloned(),
            strategy: Strategy {
                merge: strategy.split(',').any(|one| one == "merge"),
                replace: strategy == "replace",
            },
            merge_key: text(property, "x-kubernetes-patch-merge-key").map(Into::into),
            go: text(property, "x-go-type").map(Into::into),
            embedded: text(property, "x-go-embedded").map(Into::into),
            write: match text(property, "x-go-write") {
                Some("empty") => Write::NotEmpty,
                Some("zero") => Write::NotZero,
                Some("always") => Write::Always,
                Some("null") => Write::Null,
                _ => Write::Set,
            },
        }
    }

    fn list(&mut self, schema: &Value, preserve: bool) -> List {
        let items = match schema.get("items") {
            Some(items) => self.reference(items, preserve),
            None => UNTYPED,
        };
        List {
            items,
            relation: relation(schema),
        }
    }

    /// Returns the type of a field or an item: the referenced type (`$ref`, alone or in `allOf`), or a new
    /// one.
    fn reference(&mut self, schema: &Value, preserve: bool) -> Id {
        let alone = text(schema, "$ref");
        let wrapped = || match schema["allOf"].as_array().map(Vec::as_slice) {
            Some([one]) => text(one, "$ref"),
            _ => None,
        };
        let Some(reference) = alone.or_else(wrapped) else {
            let node = self.convert(schema, preserve);
            return self.add(node);
        };
        let name = reference.rsplit('/').next().unwrap_or(reference);
        let target = self.named(name).unwrap_or(DEDUCED);
        match text(schema, "x-kubernetes-map-type") {
            Some(kind) => {
                let id = self.add(Node::default());
                self.overrides.push((id, target, kind == "atomic"));
                id
            }
            None => target,
        }
    }
}

fn relation(schema: &Value) -> Relation {
    match text(schema, "x-kubernetes-list-type") {
        Some("set") => Relation::Set,
        Some("map") => {
            let keys = schema["x-kubernetes-list-map-keys"].as_array();
            let keys = keys.into_iter().flatten().filter_map(Value::as_str);
            Relation::Keys(keys.map(Into::into).collect())
        }
        Some(_) => Relation::Atomic,
        None => match text(schema, "x-kubernetes-patch-strategy") {
            Some("merge" | "merge,retainKeys") => {
                match text(schema, "x-kubernetes-patch-merge-key") {
                    Some(key) => Relation::Keys(vec![key.into()]),
                    None => Relation::Set,
                }
            }
            _ => Relation::Atomic,
        },
    }
}

fn text<'a>(schema: &'a Value, key: &str) -> Option<&'a str> {
    schema.get(key).and_then(Value::as_str)
}

fn flag(schema: &Value, key: &str) -> bool {
    schema.get(key).and_then(Value::as_bool) == Some(true)
}
