//! Garbage collection: deletes or orphans the dependents of deleted owners.
//!
//! It follows the garbage collector of the real controller manager, but runs in the drain loop of the commit
//! that triggers it.

mod graph;
mod owner;

#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use serde_json::Value;

use self::graph::{Graph, Node};
use self::owner::OwnerState;
use crate::builtin::path::{items, text};
use crate::registry::{Controller, Propagation, Transaction};
use crate::store::{Change, Event};

const FOREGROUND: &str = "foregroundDeletion";
const ORPHAN: &str = "orphan";

/// The garbage collector.
///
/// # Guarantees
///
/// After the drain loop of a commit, no object remains whose owners are all absent. This excludes objects
/// with an owner that cannot be looked up: see [`owner::owner_states`]. The collector deletes no other
/// object.
#[derive(Debug, Default)]
pub(crate) struct Collector {
    graph: Graph,
    /// The uids of the objects to check.
    queue: VecDeque<String>,
}

impl Collector {
    /// Returns a collector with an empty graph.
    pub(crate) fn new() -> Self {
        Self::default()
    }

    fn push(&mut self, uids: impl IntoIterator<Item = String>) {
        for uid in uids {
            if !self.queue.contains(&uid) {
                self.queue.push_back(uid);
            }
        }
    }

    fn work(&mut self, tx: &mut Transaction<'_>) {
        while let Some(uid) = self.queue.pop_front() {
            let Some(node) = self.graph.node(&uid).cloned() else {
                continue;
            };
            if let Some(live) = live(tx, &node, &uid) {
                self.attempt(tx, &uid, &node, &live);
            }
        }
    }

    /// Deletes or updates an object as its owners and its dependents require.
    fn attempt(&mut self, tx: &mut Transaction<'_>, uid: &str, node: &Node, live: &Value) {
        let deleting = is_terminating(live);
        let foreground = deleting && has_finalizer(live, FOREGROUND);
        if deleting && has_finalizer(live, ORPHAN) {
            self.orphan(tx, uid, node, live);
            return;
        }
        if foreground {
            self.finish_foreground(tx, uid, node, live);
            return;
        }
        let owners = items(&live["metadata"]["ownerReferences"]);
        if deleting || owners.is_empty() {
            return;
        }
        let Some(standings) = owner::owner_states(tx, &node.namespace, owners) else {
            return;
        };
        let count = |standing| standings.iter().filter(|one| **one == standing).count();
        let (solid, waiting) = (count(OwnerState::Present), count(OwnerState::Waiting));
        if solid == standings.len() {
            return;
        }
        if solid > 0 {
            let kept = owners.iter().zip(&standings);
            let kept = kept.filter(|(_, standing)| **standing == OwnerState::Present);
            let kept: Vec<Value> = kept.map(|(owner, _)| owner.clone()).collect();
            set_owners(tx, &node.resource, live, kept);
            return;
        }
        let policy = if waiting > 0 && self.graph.has_dependents(uid) {
            if self.is_in_circle(tx, uid) {
                unblock_owners(tx, &node.resource, live);
            }
            Propagation::Foreground
        } else if has_finalizer(live, ORPHAN) {
            Propagation::Orphan
        } else if has_finalizer(live, FOREGROUND) {
            Propagation::Foreground
        } else {
            Propagation::Background
        };
        let name = text(live, &["metadata", "name"]);
        if let Err(error) = tx.delete(&node.resource, &node.namespace, name, Some(policy)) {
            tracing::debug!(%error, resource = %node.resource, name, "not collected");
        }
    }

    /// Returns whether a dependent of an object waits for its own dependents. Then the object can be one of
    /// them, and none of the circle could go first.
    fn is_in_circle(&self, tx: &Transaction<'_>, uid: &str) -> bool {
        let waits = |dependent: &String| {
            let node = self.graph.node(dependent)?;
            let live = live(tx, node, dependent)?;
            Some(is_terminating(&live) && has_finalizer(&live, FOREGROUND))
        };
        let dependents = self.graph.dependents(uid);
        dependents.iter().any(|one| waits(one) == Some(true))
    }

    /// Removes the owner reference from all dependents, then releases the owner's finalizer.
    fn orphan(&mut self, tx: &mut Transaction<'_>, uid: &str, node: &Node, owner: &Value) {
        for dependent in self.graph.dependents(uid) {
            let Some(node) = self.graph.node(&dependent).cloned() else {
                continue;
            };
            let Some(live) = live(tx, &node, &dependent) else {
                continue;
            };
            let mut kept = items(&live["metadata"]["ownerReferences"]).to_vec();
            kept.retain(|one| text(one, &["uid"]) != uid);
            set_owners(tx, &node.resource, &live, kept);
        }
        remove_finalizer(tx, &node.resource, owner, ORPHAN);
    }

    /// Releases the owner's finalizer when no dependent blocks its deletion.
    fn finish_foreground(
        &mut self,
        tx: &mut Transaction<'_>,
        uid: &str,
        node: &Node,
        owner: &Value,
    ) {
        let mut blocked = false;
        let mut waiting = Vec::new();
        for dependent in self.graph.dependents(uid) {
            let Some(node) = self.graph.node(&dependent).cloned() else {
                continue;
            };
            let Some(live) = live(tx, &node, &dependent) else {
                continue;
            };
            blocked |= blocks(&live, uid);
            if !is_terminating(&live) {
                waiting.push(dependent);
            }
        }
        if blocked {
            self.push(waiting);
            return;
        }
        self.push(waiting);
        remove_finalizer(tx, &node.resource, owner, FOREGROUND);
    }
}

impl Controller for Collector {
    fn manager(&self) -> &'static str {
        "kube-controller-manager"
    }

    fn observe(&mut self, tx: &mut Transaction<'_>, event: &Event) {
        let resource = &**event.resource.id();
        // Events are short-lived and have no owners. The real collector ignores them as well.
        if resource == "events" || resource == "events.events.k8s.io" {
            return;
        }
        let object = &*event.object;
        let uid = text(object, &["metadata", "uid"]).to_owned();
        match event.change {
            Change::Deleted => {
                let owners = self.graph.remove(&uid);
                self.push(owners);
                self.push(self.graph.dependents(&uid));
            }
            _ if event
                .previous
                .as_deref()
                .is_some_and(|old| is_alike(old, object)) => {}
            _ => {
                let dependents_matter = is_terminating(object) && has_finalizer(object, FOREGROUND);
                // Owners that the object no longer blocks may go now.
                let owners = self.graph.remove(&uid);
                self.push(owners);
                self.graph.insert(&uid, node_of(resource, object));
                if dependents_matter {
                    self.push(self.graph.dependents(&uid));
                }
                self.push([uid]);
            }
        }
        if resource == "customresourcedefinitions.apiextensions.k8s.io" {
            // A change of a definition can make the kind of an owner known, and then the owner can be absent.
            self.push(self.graph.with_owners());
        }
        self.work(tx);
    }
}

fn node_of(resource: &str, object: &Value) -> Node {
    let owners = items(&object["metadata"]["ownerReferences"]).iter();
    Node {
        resource: Arc::from(resource),
        namespace: text(object, &["metadata", "namespace"]).to_owned(),
        name: text(object, &["metadata", "name"]).to_owned(),
        owners: owners
            .map(|owner| text(owner, &["uid"]).to_owned())
            .collect(),
    }
}

/// Returns whether two versions of an object do not differ for the collector.
fn is_alike(old: &Value, new: &Value) -> bool {
    ["ownerReferences", "finalizers", "deletionTimestamp"]
        .iter()
        .all(|field| old["metadata"][*field] == new["metadata"][*field])
}

/// Returns the live object of a node, unless another object has its name.
fn live(tx: &Transaction<'_>, node: &Node, uid: &str) -> Option<Arc<Value>> {
    let live = tx.get(&node.resource, &node.namespace, &node.name)?;
    (text(&live, &["metadata", "uid"]) == uid).then_some(live)
}

fn is_terminating(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

fn has_finalizer(object: &Value, finalizer: &str) -> bool {
    items(&object["metadata"]["finalizers"])
        .iter()
        .any(|one| one == finalizer)
}

/// Returns whether a dependent blocks the deletion of its owner.
fn blocks(dependent: &Value, owner: &str) -> bool {
    let blocks = |one: &Value| text(one, &["uid"]) == owner && one["blockOwnerDeletion"] == true;
    items(&dependent["metadata"]["ownerReferences"])
        .iter()
        .any(blocks)
}

fn remove_finalizer(tx: &mut Transaction<'_>, resource: &str, object: &Value, finalizer: &str) {
    let mut object = object.clone();
    if let Value::Array(finalizers) = &mut object["metadata"]["finalizers"] {
        finalizers.retain(|one| one != finalizer);
    }
    update(tx, resource, object);
}

fn set_owners(tx: &mut Transaction<'_>, resource: &str, object: &Value, owners: Vec<Value>) {
    let mut object = object.clone();
    if let Value::Object(metadata) = &mut object["metadata"] {
        if owners.is_empty() {
            metadata.remove("ownerReferences");
        } else {
            metadata.insert("ownerReferences".to_owned(), Value::Array(owners));
        }
    }
    update(tx, resource, object);
}

/// Lets the owners of an object go before it.
fn unblock_owners(tx: &mut Transaction<'_>, resource: &str, object: &Value) {
    let mut object = object.clone();
    let owners = object["metadata"]["ownerReferences"].as_array_mut();
    for owner in owners.into_iter().flatten() {
        if owner["blockOwnerDeletion"] == true {
            owner["blockOwnerDeletion"] = false.into();
        }
    }
    update(tx, resource, object);
}

fn update(tx: &mut Transaction<'_>, resource: &str, object: Value) {
    if let Err(error) = tx.update(resource, "", object) {
        tracing::warn!(%error, resource, "the garbage collector's update is refused");
    }
}
