//! The life cycle of custom resource definitions: the server accepts the names, serves the resource, and on
//! deletion removes the objects before the definition.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/>

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use super::controller::Controller;
use super::metadata;
use super::strategy::DEFINITIONS;
use super::transaction::Transaction;
use crate::crd::{self, conditions};
use crate::resource::Resource;
use crate::store::{Change, Event};

/// The controller that serves the resources of custom resource definitions.
#[derive(Debug, Default)]
pub(super) struct Definitions {
    /// The specification and accepted names with which each resource is served.
    served: HashMap<String, Value>,
}

impl Controller for Definitions {
    fn manager(&self) -> &'static str {
        "kube-apiserver"
    }

    fn observe(&mut self, tx: &mut Transaction<'_>, event: &Event) {
        if &**event.resource.id() == DEFINITIONS {
            let name = event.key.name();
            if event.change == Change::Deleted {
                self.retire(tx, name);
                accept_others(tx, name, &event.object);
            } else if let Some(definition) = tx.get(DEFINITIONS, "", name) {
                self.advance(tx, name, &definition);
            }
        } else if event.change == Change::Deleted && event.resource.is_custom() {
            let name = event.resource.id();
            if let Some(definition) = tx.get(DEFINITIONS, "", name) {
                self.advance(tx, name, &definition);
            }
        }
    }
}

impl Definitions {
    /// Performs the next step of a definition's life cycle.
    fn advance(&mut self, tx: &mut Transaction<'_>, name: &str, definition: &Arc<Value>) {
        if accept(tx, definition) {
            // The update of the status causes an event, which triggers the next step.
            return;
        }
        if conditions::is_true(definition, "Established") {
            self.serve(tx, name, definition);
        }
        if metadata::is_terminating(definition) {
            empty(tx, name, definition);
        }
    }

    /// Serves a resource with the newest version of its definition.
    fn serve(&mut self, tx: &mut Transaction<'_>, name: &str, definition: &Value) {
        let basis = (&definition["spec"], &definition["status"]["acceptedNames"]);
        let basis = Value::Array(vec![basis.0.clone(), basis.1.clone()]);
        let before = self.served.get(name);
        if before == Some(&basis) {
            return;
        }
        let changed_at = before.map_or(0, |_| tx.store.revision());
        let Some(resource) = Resource::custom(definition, changed_at) else {
            return;
        };
        let resource = Arc::new(resource);
        tx.store.open(resource.storage());
        if before.is_some() {
            // Clients must list again to get the objects in the form of the new definition.
            tx.store.end_watches(resource.storage());
        }
        tx.catalogue.insert(resource);
        self.served.insert(name.to_owned(), basis);
    }

    /// Stops serving a resource.
    fn retire(&mut self, tx: &mut Transaction<'_>, name: &str) {
        if self.served.remove(name).is_some() {
            tx.catalogue.remove(name);
            tx.store.close(name);
        }
    }
}

/// Deletes the objects of a terminating definition, and then releases the definition's finalizer.
fn empty(tx: &mut Transaction<'_>, name: &str, definition: &Value) {
    if !metadata::finalizers(definition).contains(&crd::FINALIZER) {
        return;
    }
    for object in tx.list(name, None) {
        if !metadata::is_terminating(&object) {
            let (namespace, one) = (metadata::namespace(&object), metadata::name(&object));
            // An error is harmless: the deletion of another object may already have deleted this one.
            let _ = tx.delete(name, namespace, one, None);
        }
    }
    let deletion = if tx.list(name, None).is_empty() {
        conditions::Deletion::Completed
    } else {
        conditions::Deletion::InProgress
    };
    let completed = matches!(deletion, conditions::Deletion::Completed);
    let status = conditions::terminating(definition, deletion, &tx.now_rfc3339());
    update(tx, "status", definition, |object| object["status"] = status);
    if completed && let Some(newest) = tx.get(DEFINITIONS, "", name) {
        update(tx, "", &newest, |object| {
            let kept = metadata::finalizers(object).into_iter();
            let kept: Vec<String> = kept
                .filter(|one| *one != crd::FINALIZER)
                .map(str::to_owned)
                .collect();
            object["metadata"]["finalizers"] = kept.into();
        });
    }
}

/// Accepts or rejects the names of a definition in its status. Returns whether the definition changed.
fn accept(tx: &mut Transaction<'_>, definition: &Arc<Value>) -> bool {
    let name = metadata::name(definition);
    let all = tx.list(DEFINITIONS, None);
    let others: Vec<&Value> = all
        .iter()
        .filter(|one| metadata::name(one) != name)
        .map(|one| &**one)
        .collect();
    match crd::names::accept(definition, &others, &tx.now_rfc3339()) {
        Some(status) => update(tx, "status", definition, |object| object["status"] = status),
        None => false,
    }
}

/// Accepts names of other definitions that the deleted definition had reserved.
fn accept_others(tx: &mut Transaction<'_>, gone: &str, definition: &Value) {
    for other in tx.list(DEFINITIONS, None) {
        let same_group = other["spec"]["group"] == definition["spec"]["group"];
        if same_group && metadata::name(&other) != gone {
            accept(tx, &other);
        }
    }
}

/// Updates a definition. Returns whether it changed.
fn update(
    tx: &mut Transaction<'_>,
    subresource: &str,
    definition: &Value,
    change: impl FnOnce(&mut Value),
) -> bool {
    let mut object = definition.clone();
    change(&mut object);
    match tx.update(DEFINITIONS, subresource, object) {
        Ok(stored) => {
            stored["metadata"]["resourceVersion"] != definition["metadata"]["resourceVersion"]
        }
        Err(error) => {
            tracing::warn!(%error, "a definition cannot be updated");
            false
        }
    }
}
