//! The life cycle of namespaces: their default objects, and their deletion.
//!
//! <https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/>

mod content;

#[cfg(test)]
mod tests;

use serde_json::{Value, json};

use self::content::Content;
use crate::builtin::path::text;
use crate::registry::{Controller, Transaction};
use crate::store::{Change, Event};

/// The description in the ConfigMap with the cluster's certificate.
const DESCRIPTION: &str = "Contains a CA bundle that can be used to verify the kube-apiserver when \
                           using internal endpoints such as the internal service IP or \
                           kubernetes.default.svc. No other usage is guaranteed across \
                           distributions of Kubernetes clusters.";

const ROOT_CA: &str = "kube-root-ca.crt";

/// The controller that creates the default objects of namespaces and empties terminating namespaces.
#[derive(Debug, Default)]
pub(crate) struct Namespaces {
    /// The certificate of the server's authority, in PEM.
    root_ca: String,
}

impl Namespaces {
    /// Returns the controller. `root_ca` is the certificate with which clients in the cluster verify the
    /// server.
    pub(crate) fn new(root_ca: impl Into<String>) -> Self {
        Self {
            root_ca: root_ca.into(),
        }
    }

    /// Creates the default objects of a namespace.
    fn fill(&self, tx: &mut Transaction<'_>, namespace: &str) {
        if tx.get("serviceaccounts", namespace, "default").is_none() {
            let account = json!({
                "apiVersion": "v1",
                "kind": "ServiceAccount",
                "metadata": {"name": "default", "namespace": namespace},
            });
            create(tx, "serviceaccounts", namespace, account);
        }
        let published = tx.get("configmaps", namespace, ROOT_CA);
        let data = json!({"ca.crt": self.root_ca});
        if let Some(map) = published {
            if map["data"] != data {
                // The namespace is from a saved state, or a client changed the ConfigMap.
                let mut map = (*map).clone();
                map["data"] = data;
                update(tx, "configmaps", "", map);
            }
        } else {
            let map = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {
                    "name": ROOT_CA,
                    "namespace": namespace,
                    "annotations": {"kubernetes.io/description": DESCRIPTION},
                },
                "data": data,
            });
            create(tx, "configmaps", namespace, map);
        }
    }

    /// Creates the default objects of a namespace. If it is terminating, deletes its objects and then
    /// releases its finalizer.
    fn sync(&self, tx: &mut Transaction<'_>, name: &str) {
        let Some(namespace) = tx.get("namespaces", "", name) else {
            return;
        };
        if namespace["metadata"]["deletionTimestamp"].is_null() {
            self.fill(tx, name);
            return;
        }
        let pods_remain = content::delete(tx, name);
        let left = if pods_remain {
            // The real controller counts what remains only after it has tried to delete everything.
            Content::default()
        } else {
            Content::list(tx, name)
        };
        let mut object = (*namespace).clone();
        let now = tx.now_rfc3339();
        left.report(&mut object["status"], &now);
        update(tx, "namespaces", "status", object);
        if !pods_remain
            && left.is_empty()
            && let Some(namespace) = tx.get("namespaces", "", name)
        {
            let mut object = (*namespace).clone();
            if let Value::Array(finalizers) = &mut object["spec"]["finalizers"] {
                finalizers.retain(|one| one != "kubernetes");
            }
            update(tx, "namespaces", "finalize", object);
        }
    }
}

impl Controller for Namespaces {
    fn observe(&mut self, tx: &mut Transaction<'_>, event: &Event) {
        let object = &*event.object;
        let id = &**event.resource.id();
        if id == "namespaces" {
            let begins = event.change == Change::Added;
            let ends = object["metadata"]["deletionTimestamp"].is_string();
            let ended_before = event.previous.as_deref();
            let ended_before =
                ended_before.is_some_and(|old| old["metadata"]["deletionTimestamp"].is_string());
            if event.change != Change::Deleted && (begins || ends && !ended_before) {
                self.sync(tx, text(object, &["metadata", "name"]));
            }
            return;
        }
        if !event.resource.namespaced {
            return;
        }
        let namespace = text(object, &["metadata", "namespace"]);
        let terminating = tx
            .get("namespaces", "", namespace)
            .is_some_and(|one| one["metadata"]["deletionTimestamp"].is_string());
        let needed = matches!(
            (id, event.change, text(object, &["metadata", "name"])),
            ("serviceaccounts", Change::Deleted, "default") | ("configmaps", _, ROOT_CA)
        );
        if terminating || needed {
            self.sync(tx, namespace);
        }
    }
}

fn create(tx: &mut Transaction<'_>, resource: &str, namespace: &str, object: Value) {
    if let Err(error) = tx.create(resource, namespace, object) {
        tracing::warn!(%error, resource, namespace, "a namespace is not filled");
    }
}

fn update(tx: &mut Transaction<'_>, resource: &str, subresource: &str, object: Value) {
    if let Err(error) = tx.update(resource, subresource, object) {
        tracing::warn!(%error, resource, subresource, "a namespace is not kept up");
    }
}
