//! Prints manifests as Rhai, and converts numbers and bools to texts where the API accepts only texts
//! (labels, annotations, the data of a `ConfigMap`). A pipeline does this when it applies an object.

use serde_json::Value;

use super::code;
use super::helper::Helper;
use crate::pipeline::tree::Tree;

/// A function that returns the call of a helper function with an argument.
type CallHelper<'h> = dyn FnMut(Helper, &str) -> String + 'h;

/// The paths to the maps of any object that contain only texts.
const TEXT_MAPS: [&[&str]; 2] = [&["metadata", "labels"], &["metadata", "annotations"]];

/// Returns the paths to the maps of an object of a kind that contain only texts.
fn text_maps(kind: Option<&str>) -> Vec<&'static [&'static str]> {
    let mut paths = TEXT_MAPS.to_vec();
    match kind {
        Some("ConfigMap") => paths.push(&["data"]),
        Some("Secret") => paths.push(&["stringData"]),
        _ => {}
    }
    paths
}

/// Returns the code of one manifest or a list of them.
pub(super) fn manifests(tree: &Tree, call: &mut CallHelper<'_>) -> String {
    match tree {
        Tree::List(trees) => code::list(trees.iter().map(|tree| manifest(tree, call))),
        Tree::Constant(Value::Array(items)) => documents(items),
        tree => manifest(tree, call),
    }
}

fn manifest(tree: &Tree, call: &mut CallHelper<'_>) -> String {
    match tree {
        Tree::Constant(value) => code::value(&with_texts(value)),
        tree => part_of_object(tree, &text_maps(tree.text_of("kind")), call),
    }
}

/// Returns the code of a list of documents.
pub(super) fn documents(documents: &[Value]) -> String {
    let documents = documents.iter().map(with_texts);
    code::list(documents.map(|document| code::value(&document)))
}

/// Returns whether documents contain values that must be converted to texts.
pub(super) fn need_conversion(documents: &[Value]) -> bool {
    documents
        .iter()
        .any(|document| with_texts(document) != *document)
}

fn with_texts(object: &Value) -> Value {
    let mut object = object.clone();
    let kind = object["kind"].as_str().map(str::to_owned);
    for path in text_maps(kind.as_deref()) {
        let pointer = format!("/{}", path.join("/"));
        if let Some(Value::Object(map)) = object.pointer_mut(&pointer) {
            map.values_mut().for_each(convert_to_text);
        }
    }
    object
}

fn convert_to_text(value: &mut Value) {
    if value.is_number() || value.is_boolean() {
        *value = value.to_string().into();
    }
}

/// Returns the code of a part of an object. `text_maps` are the paths in it to maps of texts.
fn part_of_object(tree: &Tree, text_maps: &[&[&str]], call: &mut CallHelper<'_>) -> String {
    let Tree::Map(entries) = tree else {
        return code::tree(tree);
    };
    code::entries(entries, &mut |name, tree| {
        let paths = text_maps.iter().filter_map(|path| path.split_first());
        let below = paths.filter(|(first, _)| Some(**first) == name);
        let below: Vec<&[&str]> = below.map(|(_, rest)| rest).collect();
        if below.contains(&&[][..]) {
            map_of_texts(tree, call)
        } else {
            part_of_object(tree, &below, call)
        }
    })
}

fn map_of_texts(tree: &Tree, call: &mut CallHelper<'_>) -> String {
    match tree {
        Tree::Map(entries) => code::entries(entries, &mut |_, tree| text(tree, call)),
        Tree::Slot(expression) => call(Helper::Texts, &expression.text),
        Tree::Constant(Value::Object(map)) => {
            let mut map = map.clone();
            map.values_mut().for_each(convert_to_text);
            code::value(&Value::Object(map))
        }
        other => code::tree(other),
    }
}

fn text(tree: &Tree, call: &mut CallHelper<'_>) -> String {
    match tree {
        Tree::Slot(expression) => call(Helper::Text, &expression.text),
        Tree::Constant(value) => {
            let mut value = value.clone();
            convert_to_text(&mut value);
            code::value(&value)
        }
        other => code::tree(other),
    }
}
