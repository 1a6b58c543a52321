//! OpenAPI documents: v3 by group and version, as kubectl reads them to validate, patch and explain, and
//! OpenAPI documents: version 3 by API group and version, which kubectl uses to validate, patch and explain.
//!
//! The documents of built-in kinds are those of the real server. The documents of custom resources are
//! derived from them.
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#openapi-interface-definition>

mod custom;
mod document;
mod v2;

use std::{
    collections::{BTreeMap, BTreeSet, HashMap},
    sync::{Arc, LazyLock},
};

use parking_lot::Mutex;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha512};

use super::VERSION;
use super::schema::builtin::unpack;

pub(crate) use custom::CustomVersion;
use document::{FILE, expanded, hex, whole};
pub(crate) use v2::{V2, v2};

/// The paths of the built-in documents. The parsed file is not kept in memory, only the documents that
/// clients requested.
static PATHS: LazyLock<BTreeSet<String>> = LazyLock::new(|| {
    let file = unpack(FILE);
    let documents = file["documents"].as_object();
    documents.into_iter().flat_map(Map::keys).cloned().collect()
});

/// The built-in documents that clients have requested.
static DOCUMENTS: LazyLock<Mutex<HashMap<String, Arc<str>>>> = LazyLock::new(Mutex::default);

/// Returns `/openapi/v3`: each document with a hash of its content.
pub(crate) fn index(custom: &[CustomVersion<'_>]) -> Value {
    let url = |path: &str, hash: &str| json!({"serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}")});
    let mut paths = Map::new();
    for path in &*PATHS {
        paths.insert(path.clone(), url(path, &builtin_hash(path)));
    }
    let versions: BTreeMap<String, Vec<&CustomVersion<'_>>> = custom.iter().fold(
        BTreeMap::new(),
        |mut versions: BTreeMap<String, Vec<&CustomVersion<'_>>>, one| {
            versions.entry(one.path()).or_default().push(one);
            versions
        },
    );
    for (path, kinds) in versions {
        let value = url(&path, &custom::hash(&kinds));
        paths.insert(path, value);
    }
    json!({ "paths": paths })
}

/// Returns the hash of a document. For custom resources, it changes with the definitions.
pub(crate) fn hash(path: &str, custom: &[CustomVersion<'_>]) -> Option<String> {
    if PATHS.contains(path) {
        return Some(builtin_hash(path));
    }
    let kinds: Vec<&CustomVersion<'_>> = custom.iter().filter(|one| one.path() == path).collect();
    (!kinds.is_empty()).then(|| custom::hash(&kinds))
}

/// Returns the text of `/openapi/v3/<path>`, with a path such as `apis/apps/v1`.
pub(crate) fn document(path: &str, custom: &[CustomVersion<'_>]) -> Option<Arc<str>> {
    if !PATHS.contains(path) {
        let kinds: Vec<&CustomVersion<'_>> =
            custom.iter().filter(|one| one.path() == path).collect();
        return (!kinds.is_empty()).then(|| custom::document(&unpack(FILE), &kinds).into());
    }
    if let Some(document) = DOCUMENTS.lock().get(path) {
        return Some(Arc::clone(document));
    }
    let document: Arc<str> = builtin(&unpack(FILE), path).to_string().into();
    DOCUMENTS
        .lock()
        .insert(path.to_owned(), Arc::clone(&document));
    Some(document)
}

/// Returns the hash of a built-in document. The document never changes, so any constant is a valid hash.
fn builtin_hash(path: &str) -> String {
    hex(Sha512::digest(format!("{VERSION} {path}")).as_slice())
}

fn builtin(file: &Map<String, Value>, path: &str) -> Value {
    let document = &file["documents"][path];
    let paths = document["paths"].as_object();
    let paths: Map<String, Value> = paths
        .into_iter()
        .flatten()
        .map(|(path, item)| (path.clone(), expanded(file, item)))
        .collect();
    let names = document["schemas"].as_array();
    let names = names.into_iter().flatten().filter_map(Value::as_str);
    let mut schemas: Map<String, Value> = names
        .map(|name| (name.to_owned(), file["schemas"][name].clone()))
        .collect();
    for kind in ["DeleteOptions", "WatchEvent"] {
        let name = format!("io.k8s.apimachinery.pkg.apis.meta.v1.{kind}");
        if let Some(schema) = schemas.get_mut(&name) {
            schema["x-kubernetes-group-version-kind"] = shared_kinds(path, kind);
        }
    }
    whole(paths, schemas)
}

/// Returns the kinds of a definition that every group has: that of the core group, and that of the document's
/// group.
fn shared_kinds(path: &str, kind: &str) -> Value {
    let mut kinds = vec![json!({"group": "", "kind": kind, "version": "v1"})];
    if let Some((group, version)) = path
        .strip_prefix("apis/")
        .and_then(|path| path.split_once('/'))
    {
        kinds.push(json!({"group": group, "kind": kind, "version": version}));
    }
    kinds.into()
}

#[cfg(test)]
mod tests;
