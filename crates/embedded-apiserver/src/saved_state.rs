//! Saves all objects of a server as one JSON document, and loads them into another server.

use std::collections::HashMap;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::crd::conditions;
use super::registry::{Registry, Transaction};
use super::resource::Resource;
use super::schema::decode;
use super::stack;
use super::store::Key;

/// The resource whose objects define other resources.
const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The saved document.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedState {
    /// The newest revision. Loading keeps the revisions of the objects, and later writes get higher ones.
    revision: u64,
    objects: Vec<SavedObject>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct SavedObject {
    /// `deployments.apps`
    resource: String,
    object: Arc<Value>,
}

/// The reason why a document cannot be loaded as the state of a server.
#[derive(Debug, thiserror::Error)]
pub enum InvalidState {
    /// The document has unknown, missing or wrongly typed fields.
    #[error("no saved state of an API server")]
    Document(#[from] serde_json::Error),
    /// The text is not JSON, or an object is nested too deeply.
    #[error("no saved state of an API server: {0}")]
    Json(String),
    /// A resource that neither the server nor the definitions in the document serve.
    #[error("the server does not serve {resource}")]
    Resource {
        /// `plural.group`
        resource: String,
    },
    /// An object of the resource has no name.
    #[error("an object of {resource} has no name")]
    Name {
        /// `plural.group`
        resource: String,
    },
}

/// Returns all objects as a JSON document.
pub(super) fn save(registry: &Registry) -> String {
    let state = registry.write(|tx| SavedState {
        revision: tx.store.revision(),
        objects: tx
            .resources()
            .iter()
            .flat_map(|one| saved_objects(tx, one.id()))
            .collect(),
    });
    // Serialization of maps with string keys cannot fail.
    stack::with_room(|| serde_json::to_string(&state)).unwrap_or_default()
}

fn saved_objects(tx: &Transaction<'_>, resource: &str) -> Vec<SavedObject> {
    let saved = |object| SavedObject {
        resource: resource.to_owned(),
        object,
    };
    tx.list(resource, None).into_iter().map(saved).collect()
}

/// Restores the objects of a document. They replace objects of the same names.
///
/// # Errors
/// If the document is invalid, no object is loaded.
pub(super) fn load(registry: &Registry, document: &str) -> Result<(), InvalidState> {
    stack::with_room(|| load_objects(registry, document))
}

fn load_objects(registry: &Registry, document: &str) -> Result<(), InvalidState> {
    let SavedState { revision, objects } = parse(document)?;
    let (definitions, others): (Vec<_>, Vec<_>) = objects
        .into_iter()
        .partition(|saved| saved.resource == DEFINITIONS);
    let defined = defined(&definitions, revision);
    // One transaction loads all objects. Otherwise the controller would remove a terminating definition
    // before its objects are loaded.
    registry.write(|tx| {
        let objects = definitions.into_iter().chain(others);
        let placed: Vec<ResolvedObject> = objects
            .map(|saved| resolve(tx, &defined, saved))
            .collect::<Result<_, _>>()?;
        tx.store.advance_to(revision);
        for resource in defined.into_values() {
            tx.catalogue.insert(resource);
        }
        for ResolvedObject(resource, key, object) in placed {
            tx.store.restore(&resource, key, object);
        }
        Ok(())
    })
}

/// The nesting levels of a document around each object: the document, `objects`, and the saved object.
const OUTER_LEVELS: usize = 3;

fn parse(document: &str) -> Result<SavedState, InvalidState> {
    let levels = decode::MAX_JSON_DEPTH + OUTER_LEVELS;
    let decoded = decode::json_within(document.as_bytes(), levels).map_err(InvalidState::Json)?;
    Ok(serde_json::from_value(decoded.value)?)
}

/// Returns the resources that the saved definitions serve, by their ids.
fn defined(definitions: &[SavedObject], revision: u64) -> HashMap<String, Arc<Resource>> {
    let established = definitions
        .iter()
        .filter(|saved| conditions::is_true(&saved.object, "Established"));
    established
        .filter_map(|saved| Resource::custom(&saved.object, revision))
        .map(|resource| (resource.id().to_string(), Arc::new(resource)))
        .collect()
}

/// An object with its resource and key.
struct ResolvedObject(Arc<Resource>, Key, Value);

fn resolve(
    tx: &Transaction<'_>,
    defined: &HashMap<String, Arc<Resource>>,
    saved: SavedObject,
) -> Result<ResolvedObject, InvalidState> {
    let SavedObject { resource, object } = saved;
    let known = defined.get(&resource).cloned();
    let Some(known) = known.or_else(|| tx.resource(&resource)) else {
        return Err(InvalidState::Resource { resource });
    };
    let text = |field: &str| object["metadata"][field].as_str().unwrap_or_default();
    if text("name").is_empty() {
        return Err(InvalidState::Name { resource });
    }
    let key = Key::new(text("namespace"), text("name"));
    Ok(ResolvedObject(known, key, Arc::unwrap_or_clone(object)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::{ApiServer, Options};

    fn names(server: &ApiServer, resource: &str) -> Vec<String> {
        server.registry.write(|tx| {
            let objects = tx.list(resource, None);
            let name = |object: &Arc<Value>| object["metadata"]["name"].to_string();
            objects.iter().map(name).collect()
        })
    }

    /// Returns a server with a definition and one object of it, which has these finalizers.
    fn with_web(finalizers: &[&str]) -> ApiServer {
        let server = ApiServer::new(Options::default());
        server.registry.write(|tx| {
            let definition = json!({
                "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
                "metadata": {"name": "webs.ex.io"},
                "spec": {
                    "group": "ex.io", "scope": "Namespaced",
                    "names": {"kind": "Web", "plural": "webs", "singular": "web"},
                    "versions": [{"name": "v1", "served": true, "storage": true, "schema": {
                        "openAPIV3Schema": {"type": "object"},
                    }}],
                },
            });
            tx.create(DEFINITIONS, "", definition).unwrap();
        });
        server.registry.write(|tx| {
            let web = json!({"apiVersion": "ex.io/v1", "kind": "Web",
                "metadata": {"name": "w", "finalizers": finalizers}});
            tx.create("webs.ex.io", "default", web).unwrap();
        });
        server
    }

    #[test]
    fn a_terminating_definition_is_loaded_with_the_objects_that_hold_it() {
        let server = with_web(&["ex.io/hold"]);
        server
            .registry
            .write(|tx| tx.delete(DEFINITIONS, "", "webs.ex.io", None))
            .unwrap();
        let other = ApiServer::new(Options::default());
        other.load(&server.save()).unwrap();
        assert_eq!(names(&other, "webs.ex.io"), [r#""w""#]);
        other.registry.write(|tx| {
            let web = tx.get("webs.ex.io", "default", "w").unwrap();
            let mut web = Arc::unwrap_or_clone(web);
            web["metadata"]["finalizers"] = json!([]);
            tx.update("webs.ex.io", "", web).unwrap();
        });
        let definitions = names(&other, DEFINITIONS);
        assert!(
            !definitions.contains(&r#""webs.ex.io""#.to_owned()),
            "{definitions:?}"
        );
    }

    #[test]
    fn a_saved_state_is_loaded_custom_resources_and_versions_included() {
        let server = with_web(&[]);
        let state = server.save();
        let other = ApiServer::new(Options::default());
        other.load(&state).unwrap();
        assert_eq!(names(&other, "webs.ex.io"), [r#""w""#]);
        // The comparison ignores the certificate of the authority, which differs between servers.
        let kept = |state: &str| {
            let state: Value = serde_json::from_str(state).unwrap();
            let objects = state["objects"].as_array().unwrap().iter();
            let kept =
                objects.filter(|one| one["object"]["metadata"]["name"] != "kube-root-ca.crt");
            kept.cloned().collect::<Vec<_>>()
        };
        assert_eq!(kept(&other.save()), kept(&state));
    }

    #[test]
    fn invalid_states_are_refused() {
        let server = ApiServer::new(Options::default());
        let load = |state| {
            server
                .load(&Value::to_string(&state))
                .unwrap_err()
                .to_string()
        };
        assert!(load(json!({"kind": "List"})).contains("no saved state"));
        let unknown = json!({"revision": 9, "objects": [{"resource": "webs.ex.io", "object": {}}]});
        assert!(load(unknown).contains("webs.ex.io"));
        let nameless = json!({"revision": 9, "objects": [{"resource": "pods", "object": {}}]});
        assert!(load(nameless).contains("has no name"));
    }
}
