//! The schemas of built-in kinds, from a compressed file that is parsed on first use.
//!
//! `tests/kubernetes/schemas` makes the file from a real server.

use std::{
    collections::HashMap,
    io::Read,
    sync::{Arc, LazyLock},
};

use flate2::read::GzDecoder;
use serde_json::{Map, Value};

use super::{
    node::Id,
    open_api::{Arena, OBJECT_META},
};

static FILE: &[u8] = include_bytes!("types.json.gz");

/// All built-in types, and the kinds among them by `group/version/kind`.
pub(super) struct Builtin {
    pub(super) arena: Arc<Arena>,
    kinds: HashMap<String, Id>,
}

pub(super) static BUILTIN: LazyLock<Builtin> = LazyLock::new(|| {
    let definitions: Map<String, Value> = unpack(FILE);
    let arena = Arena::of_definitions(&definitions);
    let mut kinds = HashMap::new();
    for (name, schema) in &definitions {
        let Some(id) = arena.named(name) else {
            continue;
        };
        let listed = schema["x-kubernetes-group-version-kind"].as_array();
        for kind in listed.into_iter().flatten() {
            kinds.insert(key_of(kind), id);
        }
    }
    Builtin {
        arena: Arc::new(arena),
        kinds,
    }
});

impl Builtin {
    pub(super) fn kind(&self, group: &str, version: &str, kind: &str) -> Option<Id> {
        self.kinds
            .get(&format!("{group}/{version}/{kind}"))
            .copied()
    }

    /// Returns an arena with `ObjectMeta`, to which the types of a custom resource are added.
    pub(super) fn seed(&self) -> Arena {
        let mut arena = Arena::new();
        arena.import(&self.arena, OBJECT_META);
        arena
    }
}

fn key_of(kind: &Value) -> String {
    let part = |name: &str| kind[name].as_str().unwrap_or_default();
    format!("{}/{}/{}", part("group"), part("version"), part("kind"))
}

/// Parses a compressed file that is compiled into the binary. Tests parse all of them, so an error cannot
/// occur.
pub(crate) fn unpack(file: &[u8]) -> Map<String, Value> {
    let mut text = String::new();
    let read = GzDecoder::new(file).read_to_string(&mut text);
    read.map_or_else(
        |_| Map::new(),
        |_| serde_json::from_str(&text).unwrap_or_default(),
    )
}
