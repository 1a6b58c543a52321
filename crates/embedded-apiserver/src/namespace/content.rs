//! The remaining content of a terminating namespace, and the conditions that report it.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use crate::builtin::path::{items, text};
use crate::registry::{Propagation, Transaction};

/// The remaining objects.
#[derive(Debug, Default)]
pub(super) struct Content {
    /// The number of objects per resource, such as `configmaps.`.
    resources: BTreeMap<String, usize>,
    /// The number of objects per finalizer.
    finalizers: BTreeMap<String, usize>,
}

/// Deletes the objects that are not terminating: Pods first, and the others when no Pod remains. Returns
/// whether only Pods were deleted.
///
/// <https://kep.k8s.io/5080>
pub(super) fn delete(tx: &mut Transaction<'_>, namespace: &str) -> bool {
    delete_all(tx, "pods", namespace);
    if !tx.list("pods", Some(namespace)).is_empty() {
        return true;
    }
    for resource in tx.resources() {
        if resource.namespaced {
            delete_all(tx, resource.id(), namespace);
        }
    }
    false
}

fn delete_all(tx: &mut Transaction<'_>, resource: &str, namespace: &str) {
    for object in tx.list(resource, Some(namespace)) {
        if object["metadata"]["deletionTimestamp"].is_string() {
            continue;
        }
        let name = text(&object, &["metadata", "name"]);
        let policy = Some(Propagation::Background);
        if let Err(error) = tx.delete(resource, namespace, name, policy) {
            tracing::debug!(%error, resource, name, "cannot delete content of a namespace");
        }
    }
}

impl Content {
    /// Lists the remaining objects of a namespace.
    pub(super) fn list(tx: &Transaction<'_>, namespace: &str) -> Self {
        let mut content = Self::default();
        for resource in tx.resources() {
            if !resource.namespaced {
                continue;
            }
            for object in tx.list(resource.id(), Some(namespace)) {
                let name = format!("{}.{}", resource.plural, resource.group);
                *content.resources.entry(name).or_default() += 1;
                for finalizer in items(&object["metadata"]["finalizers"]) {
                    let finalizer = finalizer.as_str().unwrap_or_default().to_owned();
                    *content.finalizers.entry(finalizer).or_default() += 1;
                }
            }
        }
        content
    }

    /// Returns whether no object remains.
    pub(super) fn is_empty(&self) -> bool {
        self.resources.is_empty()
    }

    /// Writes the conditions to the status of a namespace.
    pub(super) fn report(&self, status: &mut Value, now: &str) {
        for (kind, reason, message) in [
            (
                "NamespaceDeletionDiscoveryFailure",
                "ResourcesDiscovered",
                "All resources successfully discovered",
            ),
            (
                "NamespaceDeletionGroupVersionParsingFailure",
                "ParsedGroupVersions",
                "All legacy kube types successfully parsed",
            ),
            (
                "NamespaceDeletionContentFailure",
                "ContentDeleted",
                "All content successfully deleted, may be waiting on finalization",
            ),
        ] {
            set(status, kind, false, reason, message, now);
        }
        let resources = self.resources.iter();
        let resources =
            resources.map(|(name, count)| format!("{name} has {count} resource instances"));
        let resources: Vec<String> = resources.collect();
        let (reason, message) = if resources.is_empty() {
            (
                "ContentRemoved",
                "All content successfully removed".to_owned(),
            )
        } else {
            let list = resources.join(", ");
            (
                "SomeResourcesRemain",
                format!("Some resources are remaining: {list}"),
            )
        };
        let kind = "NamespaceContentRemaining";
        set(status, kind, !resources.is_empty(), reason, &message, now);
        let finalizers = self.finalizers.iter();
        let finalizers =
            finalizers.map(|(name, count)| format!("{name} in {count} resource instances"));
        let finalizers: Vec<String> = finalizers.collect();
        let (reason, message) = if finalizers.is_empty() {
            (
                "ContentHasNoFinalizers",
                "All content-preserving finalizers finished".to_owned(),
            )
        } else {
            let list = finalizers.join(", ");
            let text = "Some content in the namespace has finalizers remaining";
            ("SomeFinalizersRemain", format!("{text}: {list}"))
        };
        let kind = "NamespaceFinalizersRemaining";
        set(status, kind, !finalizers.is_empty(), reason, &message, now);
    }
}

/// Sets a condition. Its time changes only when its status changes.
fn set(status: &mut Value, kind: &str, holds: bool, reason: &str, message: &str, now: &str) {
    let holds = if holds { "True" } else { "False" };
    let mut condition = json!({
        "type": kind,
        "status": holds,
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    });
    if !status["conditions"].is_array() {
        status["conditions"] = json!([]);
    }
    let Value::Array(conditions) = &mut status["conditions"] else {
        return;
    };
    match conditions.iter_mut().find(|one| one["type"] == kind) {
        Some(found) => {
            if found["status"] == holds {
                condition["lastTransitionTime"] = found["lastTransitionTime"].clone();
            }
            *found = condition;
        }
        None => conditions.push(condition),
    }
}
