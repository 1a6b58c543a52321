//! The graph of owners and dependents, by uid.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// An object, and the uids of its owners.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Node {
    /// `deployments.apps`
    pub(super) resource: Arc<str>,
    /// Empty for cluster-scoped objects.
    pub(super) namespace: String,
    pub(super) name: String,
    /// The uids of the owners.
    pub(super) owners: Vec<String>,
}

/// The graph of all objects. An owner can be missing from it.
#[derive(Debug, Default)]
pub(super) struct Graph {
    nodes: HashMap<String, Node>,
    dependents: HashMap<String, BTreeSet<String>>,
}

impl Graph {
    /// Returns an object by its uid.
    pub(super) fn node(&self, uid: &str) -> Option<&Node> {
        self.nodes.get(uid)
    }

    /// Adds or replaces an object.
    pub(super) fn insert(&mut self, uid: &str, node: Node) {
        self.remove(uid);
        for owner in &node.owners {
            let dependents = self.dependents.entry(owner.clone()).or_default();
            dependents.insert(uid.to_owned());
        }
        self.nodes.insert(uid.to_owned(), node);
    }

    /// Removes an object. Returns the uids of its owners.
    pub(super) fn remove(&mut self, uid: &str) -> Vec<String> {
        let owners = self.nodes.remove(uid).map(|node| node.owners);
        let owners = owners.unwrap_or_default();
        for owner in &owners {
            if let Some(dependents) = self.dependents.get_mut(owner) {
                dependents.remove(uid);
                if dependents.is_empty() {
                    self.dependents.remove(owner);
                }
            }
        }
        owners
    }

    /// Returns the uids of the dependents of a uid, sorted.
    pub(super) fn dependents(&self, uid: &str) -> Vec<String> {
        let dependents = self.dependents.get(uid).into_iter().flatten();
        dependents.cloned().collect()
    }

    /// Returns whether a uid has dependents.
    pub(super) fn has_dependents(&self, uid: &str) -> bool {
        self.dependents.contains_key(uid)
    }

    /// Returns the uids of all objects with owners.
    pub(super) fn with_owners(&self) -> Vec<String> {
        let all: BTreeSet<&String> = self.dependents.values().flatten().collect();
        all.into_iter().cloned().collect()
    }
}
