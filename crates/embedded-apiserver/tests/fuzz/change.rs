//! Random changes of request bodies.

use proptest::prelude::*;
use proptest::sample::{Index, select};
use serde_json::{Map, Value, json};

/// A change of a request body.
#[derive(Debug, Clone)]
pub(crate) enum Change {
    /// Replaces a value.
    Replace(Index, Value),
    /// Removes a value.
    Remove(Index),
    /// Inserts a value into an object or a list.
    Insert(Index, String, Value),
    /// Replaces a value by a copy of another one.
    Copy(Index, Index),
    /// Truncates the serialized text.
    Cut(Index),
    /// Inserts bytes into the text.
    Splice(Index, Vec<u8>),
    /// Replaces the text by another one.
    Text(&'static str),
    /// Changes the media type of the request.
    MediaType(&'static str),
}

const MEDIA_TYPES: [&str; 8] = [
    "application/json",
    "application/yaml",
    "application/vnd.kubernetes.protobuf",
    "application/json-patch+json",
    "application/merge-patch+json",
    "application/strategic-merge-patch+json",
    "application/apply-patch+yaml",
    "text/plain",
];

/// Texts that break parsers.
const TEXTS: [&str; 9] = [
    "",
    "null",
    "[]",
    "{\"a\":1,\"a\":2}",
    "{\"metadata\":{\"name\":\"\\ud800\"}}",
    "1e999",
    "k8s\0\x0a\x04\x0a\x02v1\x12\x7f",
    "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
    "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: a}\n---\n",
];

const NUMBERS: [i64; 5] = [0, -1, i64::MIN, i64::MAX, 65_536];

/// Texts that are valid values of some type, or almost valid.
const VALUES: [&str; 10] = [
    "a",
    "",
    "-1",
    "9e99",
    "2026-02-30T25:00:00Z",
    "*",
    "(",
    "self.x",
    "0x",
    "Ki",
];

/// Names that are meaningful in some requests.
const NAMES: [&str; 20] = [
    "metadata",
    "name",
    "namespace",
    "labels",
    "finalizers",
    "ownerReferences",
    "managedFields",
    "resourceVersion",
    "deletionTimestamp",
    "spec",
    "status",
    "replicas",
    "template",
    "$patch",
    "$setElementOrder/ports",
    "$retainKeys",
    "x-kubernetes-validations",
    "properties",
    "fieldsV1",
    "",
];

pub(crate) fn strategy() -> impl Strategy<Value = Change> {
    let place = any::<Index>;
    prop_oneof![
        4 => (place(), value()).prop_map(|(at, value)| Change::Replace(at, value)),
        2 => place().prop_map(Change::Remove),
        3 => (place(), name(), value()).prop_map(|(at, name, value)| Change::Insert(at, name, value)),
        2 => (place(), place()).prop_map(|(from, to)| Change::Copy(from, to)),
        1 => place().prop_map(Change::Cut),
        1 => (place(), prop::collection::vec(any::<u8>(), 1..4))
            .prop_map(|(at, bytes)| Change::Splice(at, bytes)),
        1 => select(&TEXTS[..]).prop_map(Change::Text),
        1 => select(&MEDIA_TYPES[..]).prop_map(Change::MediaType),
    ]
}

fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        3 => select(&NAMES[..]).prop_map(str::to_owned),
        1 => ".{0,8}",
    ]
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        proptest::bool::ANY.prop_map(Value::from),
        select(&NUMBERS[..]).prop_map(Value::from),
        proptest::num::f64::NORMAL.prop_map(Value::from),
        select(&VALUES[..]).prop_map(Value::from),
        name().prop_map(Value::from),
        Just(json!({})),
        Just(json!([])),
    ];
    leaf.prop_recursive(3, 12, 3, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..3).prop_map(Value::from),
            prop::collection::btree_map(name(), inner, 0..3)
                .prop_map(|members| Value::Object(members.into_iter().collect())),
        ]
    })
}

impl Change {
    /// Applies the change to the body before serialization. Returns false for a change of the text.
    pub(crate) fn to_value(&self, body: &mut Value) -> bool {
        let places = places(body);
        let pick = |at: &Index| places[at.index(places.len())].clone();
        match self {
            Self::Replace(at, value) => put(body, &pick(at), value.clone()),
            Self::Remove(at) => remove(body, &pick(at)),
            Self::Insert(at, name, value) => insert(body, &pick(at), name, value.clone()),
            Self::Copy(from, to) => {
                let copied = body.pointer(&pick(from)).cloned().unwrap_or_default();
                put(body, &pick(to), copied);
            }
            Self::Cut(_) | Self::Splice(..) | Self::Text(_) | Self::MediaType(_) => return false,
        }
        true
    }

    /// Applies the change to the serialized text and the media type.
    pub(crate) fn to_text(&self, text: &mut Vec<u8>, media_type: &mut &'static str) {
        match self {
            Self::Cut(at) => text.truncate(at.index(text.len() + 1)),
            Self::Splice(at, bytes) => {
                let at = at.index(text.len() + 1);
                text.splice(at..at, bytes.iter().copied());
            }
            Self::Text(other) => *text = other.as_bytes().to_vec(),
            Self::MediaType(other) => *media_type = other,
            Self::Replace(..) | Self::Remove(_) | Self::Insert(..) | Self::Copy(..) => {}
        }
    }
}

/// Returns JSON pointers to all values, beginning with the whole document.
fn places(value: &Value) -> Vec<String> {
    let mut found = vec![String::new()];
    let mut add = |token: &str, child: &Value| {
        let token = token.replace('~', "~0").replace('/', "~1");
        found.extend(places(child).iter().map(|rest| format!("/{token}{rest}")));
    };
    match value {
        Value::Object(members) => members.iter().for_each(|(name, child)| add(name, child)),
        Value::Array(items) => {
            for (index, child) in items.iter().enumerate() {
                add(&index.to_string(), child);
            }
        }
        _ => {}
    }
    found
}

fn put(body: &mut Value, at: &str, value: Value) {
    if let Some(place) = body.pointer_mut(at) {
        *place = value;
    }
}

fn remove(body: &mut Value, at: &str) {
    let Some((parent, token)) = at.rsplit_once('/') else {
        return;
    };
    let token = token.replace("~1", "/").replace("~0", "~");
    match body.pointer_mut(parent) {
        Some(Value::Object(members)) => drop(members.remove(&token)),
        Some(Value::Array(items)) => {
            if let Ok(index) = token.parse::<usize>() {
                items.remove(index);
            }
        }
        _ => {}
    }
}

fn insert(body: &mut Value, at: &str, name: &str, value: Value) {
    match body.pointer_mut(at) {
        Some(Value::Object(members)) => drop(members.insert(name.to_owned(), value)),
        Some(Value::Array(items)) => items.push(value),
        Some(other) => *other = Value::Object(Map::from_iter([(name.to_owned(), value)])),
        None => {}
    }
}
