//! The ReplicaSets of a Deployment, and their revisions.

use std::sync::Arc;

use serde_json::Value;

use super::objects::{controlled, number};
use crate::builtin::path::text;
use crate::registry::Transaction;

/// The resource of ReplicaSets.
pub(super) const SETS: &str = "replicasets.apps";
/// The annotation with the revision of a Deployment or ReplicaSet.
pub(super) const REVISION: &str = "deployment.kubernetes.io/revision";
/// The label with the hash of the Pod template.
pub(super) const HASH: &str = "pod-template-hash";

/// The ReplicaSets of a Deployment.
pub(super) struct ReplicaSets {
    /// The ReplicaSet of the current template.
    pub(super) new: Option<Arc<Value>>,
    /// The ReplicaSets of earlier templates.
    pub(super) old: Vec<Arc<Value>>,
}

impl ReplicaSets {
    /// Lists the ReplicaSets that a Deployment controls.
    pub(super) fn list(tx: &Transaction<'_>, deployment: &Value) -> Self {
        let mut sets = controlled(tx, SETS, deployment);
        // The oldest comes first: of two ReplicaSets with the same template, the older one counts.
        sets.sort_by_key(|set| revision(set));
        let template = &deployment["spec"]["template"];
        let place = sets.iter().position(|set| is_of_template(set, template));
        let new = place.map(|place| sets.remove(place));
        Self { new, old: sets }
    }

    /// Returns all sets, the new one last.
    pub(super) fn all(&self) -> impl Iterator<Item = &Arc<Value>> {
        self.old.iter().chain(&self.new)
    }

    /// Returns the sum of a number over all sets.
    pub(super) fn sum(&self, path: &[&str]) -> i64 {
        self.all().map(|set| number(set, path)).sum()
    }
}

/// Returns the revision of a ReplicaSet.
pub(super) fn revision(set: &Value) -> i64 {
    let text = text(set, &["metadata", "annotations", REVISION]);
    text.parse().unwrap_or_default()
}

fn is_of_template(set: &Value, template: &Value) -> bool {
    let mut own = set["spec"]["template"].clone();
    if let Some(labels) = own["metadata"]["labels"].as_object_mut() {
        labels.remove(HASH);
    }
    own == *template
}
