//! Reads and writes the objects of controllers.

use std::sync::Arc;

use serde_json::{Map, Value, json};

use crate::builtin::canonical;
use crate::builtin::path::{at, items, text};
use crate::labels::LabelSelector;
use crate::registry::Transaction;
use crate::store::Key;

pub(super) fn name(object: &Value) -> &str {
    text(object, &["metadata", "name"])
}

pub(super) fn namespace(object: &Value) -> &str {
    text(object, &["metadata", "namespace"])
}

pub(super) fn uid(object: &Value) -> &str {
    text(object, &["metadata", "uid"])
}

/// Returns the labels of an object, or null if it has none.
pub(super) fn labels(object: &Value) -> &Value {
    &object["metadata"]["labels"]
}

/// Returns a number, or zero if it is missing.
pub(super) fn number(object: &Value, path: &[&str]) -> i64 {
    at(object, path).as_i64().unwrap_or_default()
}

/// Converts a number of items to the integer type of a status.
pub(super) fn count(items: usize) -> i64 {
    i64::try_from(items).unwrap_or(i64::MAX)
}

pub(super) fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Returns the owner reference of the object's controller.
pub(super) fn controller(object: &Value) -> Option<&Value> {
    let owners = items(&object["metadata"]["ownerReferences"]);
    owners.iter().find(|one| one["controller"] == true)
}

/// Returns the resource of a controller, if it is simulated.
pub(super) fn controller_resource(owner: &Value) -> Option<&'static str> {
    let group = text(owner, &["apiVersion"]).split('/').next()?;
    match (group, text(owner, &["kind"])) {
        ("v1", "ReplicationController") => Some("replicationcontrollers"),
        ("apps", "Deployment") => Some("deployments.apps"),
        ("apps", "ReplicaSet") => Some("replicasets.apps"),
        ("apps", "StatefulSet") => Some("statefulsets.apps"),
        ("apps", "DaemonSet") => Some("daemonsets.apps"),
        ("batch", "Job") => Some("jobs.batch"),
        ("batch", "CronJob") => Some("cronjobs.batch"),
        _ => None,
    }
}

/// Returns the objects that an object controls, ordered by name.
pub(super) fn controlled(tx: &Transaction<'_>, resource: &str, owner: &Value) -> Vec<Arc<Value>> {
    let mut objects = tx.list(resource, Some(namespace(owner)));
    objects.retain(|one| controller(one).is_some_and(|by| text(by, &["uid"]) == uid(owner)));
    objects
}

/// Returns the owner reference of a controller.
pub(super) fn owner_reference(owner: &Value) -> Value {
    json!({
        "apiVersion": owner["apiVersion"],
        "kind": owner["kind"],
        "name": name(owner),
        "uid": uid(owner),
        "controller": true,
        "blockOwnerDeletion": true,
    })
}

/// Returns whether the selector of a Service or a disruption budget selects the labels.
pub(super) fn selects(selecting: &Value, labels: &Value) -> bool {
    let selector = &selecting["spec"]["selector"];
    let nothing = selector.as_object().is_none_or(Map::is_empty);
    let matches = |selector: LabelSelector| selector.matches(|key| labels[key].as_str());
    !nothing && LabelSelector::from_value(selector).is_ok_and(matches)
}

/// Returns a Pod of a template.
pub(super) fn pod_of(template: &Value, owner: &Value) -> Value {
    let mut metadata = json!({
        "namespace": namespace(owner),
        "ownerReferences": [owner_reference(owner)],
    });
    for field in ["labels", "annotations", "finalizers"] {
        if !template["metadata"][field].is_null() {
            metadata[field] = template["metadata"][field].clone();
        }
    }
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": metadata,
        "spec": template["spec"],
    })
}

/// Creates an object. Returns the error as text.
pub(super) fn create(
    tx: &mut Transaction<'_>,
    resource: &str,
    object: Value,
) -> Result<Arc<Value>, String> {
    let space = namespace(&object).to_owned();
    tx.create(resource, &space, object).map_err(|error| {
        tracing::debug!(%error, resource, "a simulated controller's create is refused");
        error.to_string()
    })
}

pub(super) fn update(tx: &mut Transaction<'_>, resource: &str, object: Value) {
    write(tx, resource, "", object);
}

/// Stores an object directly, for changes that no update through the API can make.
pub(super) fn put(tx: &mut Transaction<'_>, resource: &str, object: Value) {
    if let Some(resource) = tx.resource(resource) {
        let key = Key::new(namespace(&object), name(&object));
        tx.store.put(&resource, key, object);
    }
}

/// Replaces the status of an object.
pub(super) fn write_status(
    tx: &mut Transaction<'_>,
    resource: &str,
    object: &Value,
    status: Value,
) {
    if object["status"] == status {
        return;
    }
    let mut object = object.clone();
    object["status"] = status;
    let api_version = text(&object, &["apiVersion"]).to_owned();
    let (group, version) = api_version.split_once('/').unwrap_or(("", &api_version));
    let kind = text(&object, &["kind"]).to_owned();
    canonical(group, version, &kind, &mut object);
    write(tx, resource, "status", object);
}

fn write(tx: &mut Transaction<'_>, resource: &str, subresource: &str, object: Value) {
    if let Err(error) = tx.update(resource, subresource, object) {
        // The usual cause is an object that was deleted in the meantime, which needs no write.
        tracing::debug!(%error, resource, subresource, "a simulated controller's update is refused");
    }
}

pub(super) fn delete(tx: &mut Transaction<'_>, resource: &str, object: &Value) {
    if let Err(error) = tx.delete(resource, namespace(object), name(object), None) {
        tracing::debug!(%error, resource, "a simulated controller's delete is refused");
    }
}
