//! Manifests as Rhai. A pipeline makes texts of the numbers and bools where the API takes nothing but
//! texts (labels, annotations, the data of a `ConfigMap`); a script has to do so itself.

use serde_json::Value;

use super::code;
use crate::pipeline::Tree;

/// The maps of objects whose values are all texts.
const TEXTS: [&[&str]; 2] = [&["metadata", "labels"], &["metadata", "annotations"]];

/// The same of an object of some kind.
fn of_kind(kind: Option<&str>) -> Vec<&'static [&'static str]> {
    let mut texts = TEXTS.to_vec();
    match kind {
        Some("ConfigMap") => texts.push(&["data"]),
        Some("Secret") => texts.push(&["stringData"]),
        _ => {}
    }
    texts
}

/// One manifest or several.
pub(super) fn manifests(tree: &Tree) -> String {
    match tree {
        Tree::List(trees) => code::list(trees.iter().map(manifest)),
        Tree::Constant(Value::Array(items)) => documents(items),
        tree => manifest(tree),
    }
}

fn manifest(tree: &Tree) -> String {
    let texts = of_kind(tree.entry("kind"));
    match tree {
        Tree::Constant(value) => code::value(&with_texts(value)),
        tree => in_object(tree, &texts),
    }
}

/// Documents as a list.
pub(super) fn documents(documents: &[Value]) -> String {
    let documents = documents.iter().map(with_texts);
    code::list(documents.map(|document| code::value(&document)))
}

/// Returns whether there are values in documents that have to be made texts.
pub(super) fn are_missing(documents: &[Value]) -> bool {
    documents
        .iter()
        .any(|document| with_texts(document) != *document)
}

fn with_texts(object: &Value) -> Value {
    let mut object = object.clone();
    let kind = object["kind"].as_str().map(str::to_owned);
    for way in of_kind(kind.as_deref()) {
        let pointer = format!("/{}", way.join("/"));
        if let Some(Value::Object(map)) = object.pointer_mut(&pointer) {
            map.values_mut().for_each(make_text);
        }
    }
    object
}

fn make_text(value: &mut Value) {
    if value.is_number() || value.is_boolean() {
        *value = value.to_string().into();
    }
}

/// A part of an object; `texts` are the ways to maps in it that hold nothing but texts.
fn in_object(tree: &Tree, texts: &[&[&str]]) -> String {
    let Tree::Map(entries) = tree else {
        return code::tree(tree);
    };
    code::entries(entries, &|name, tree| {
        let ways = texts.iter().filter_map(|way| way.split_first());
        let below = ways.filter(|(first, _)| Some(**first) == name);
        let below: Vec<&[&str]> = below.map(|(_, rest)| rest).collect();
        if below.contains(&&[][..]) {
            map_of_texts(tree)
        } else {
            in_object(tree, &below)
        }
    })
}

fn map_of_texts(tree: &Tree) -> String {
    match tree {
        Tree::Map(entries) => code::entries(entries, &entry),
        Tree::Slot(expression) => format!("texts({})", expression.text),
        Tree::Constant(Value::Object(map)) => {
            let mut map = map.clone();
            map.values_mut().for_each(make_text);
            code::value(&Value::Object(map))
        }
        other => code::tree(other),
    }
}

fn entry(_: Option<&str>, tree: &Tree) -> String {
    match tree {
        Tree::Slot(expression) => format!("text({})", expression.text),
        Tree::Constant(value) => {
            let mut value = value.clone();
            make_text(&mut value);
            code::value(&value)
        }
        other => code::tree(other),
    }
}
