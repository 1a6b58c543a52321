//! Writes finalizers, and the list of children that owner references cannot reach, to a custom
//! resource. Preserves concurrent changes by other clients.
//!
//! The write of the first finalizer also sets a label that names the operator, and the release of the
//! last finalizer removes it. When an operator starts, it uses the label to find custom resources that
//! have its finalizers and that no watch selects any more ([`super::orphaned_finalizers`]).

use std::collections::BTreeSet;
use std::fmt;
use std::sync::Arc;

use serde_json::{Value, json};
use tokio::sync::Mutex;

use super::{ChildList, Error};
use crate::cluster::conflict_retry::ConflictRetry;
use crate::cluster::request::{PatchKind, WriteOptions};
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::annotations::{CHILDREN, CLEANUP_FINALIZER, HELD_BY_LABEL};
use crate::model::owner::field_manager;
use crate::model::{Object, ObjectRef, OperatorId};

/// The finalizers of a custom resource, and its list of children.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CleanupState {
    /// All finalizers, including those of other clients.
    pub finalizers: Vec<String>,
    /// The children that owner references cannot reach.
    pub children: ChildList,
}

impl CleanupState {
    fn read_from(cr: &Object) -> Self {
        Self {
            finalizers: cr.details().finalizers,
            children: ChildList::read_from(cr),
        }
    }

    fn has_cleanup(&self) -> bool {
        self.finalizers.iter().any(|name| name == CLEANUP_FINALIZER)
    }
}

/// Replaces the finalizers of a custom resource by the result of `change`; see
/// [`update_cleanup_state`].
pub async fn update_finalizers(
    cluster: &Cluster,
    cr: &Arc<Object>,
    holder: Option<&OperatorId>,
    change: impl Fn(&Object, &[String]) -> Vec<String>,
) -> Result<Option<Arc<Object>>, cluster::Error> {
    let change = |current: &Object, holds: &mut CleanupState| {
        holds.finalizers = change(current, &holds.finalizers);
    };
    update_cleanup_state(cluster, cr, holder, change).await
}

/// Writes the changed cleanup state under the custom resource's own field manager, and the label of the
/// operator: `holder`, or the current label if `holder` is `None`. Returns the written custom resource;
/// `None` if it no longer exists, or if another object has its name.
pub async fn update_cleanup_state(
    cluster: &Cluster,
    cr: &Arc<Object>,
    holder: Option<&OperatorId>,
    change: impl Fn(&Object, &mut CleanupState),
) -> Result<Option<Arc<Object>>, cluster::Error> {
    let reference = cr.object_ref();
    let mut current = Arc::clone(cr);
    let mut attempts = ConflictRetry::default();
    loop {
        let before = CleanupState::read_from(&current);
        let mut after = before.clone();
        change(&current, &mut after);
        let label = holder_label(&current, &before.finalizers, &after.finalizers, holder);
        if after == before && label == current.label(HELD_BY_LABEL) {
            return Ok(Some(current));
        }
        let body = body(&current, &before, &after, label);
        let error = match patch(cluster, &reference, &body).await {
            Ok(written) => return Ok(Some(written)),
            Err(error) => error,
        };
        // For a wrong uid, the server returns a conflict or an invalid-object error.
        let overtaken = matches!(error.kind, ErrorKind::Conflict | ErrorKind::Invalid);
        if error.kind == ErrorKind::NotFound {
            return Ok(None);
        }
        if !overtaken || !attempts.wait_for_retry().await {
            return Err(error);
        }
        let live = cluster.get(&reference).await?;
        match live.filter(|live| live.uid == cr.uid) {
            None => return Ok(None),
            Some(live) if live.resource_version == current.resource_version => return Err(error),
            Some(live) => current = live,
        }
    }
}

/// Returns the value of the label after the change; `None` once no finalizer of ours is left.
fn holder_label<'a>(
    current: &'a Object,
    before: &[String],
    after: &[String],
    holder: Option<&'a OperatorId>,
) -> Option<&'a str> {
    let there = current.label(HELD_BY_LABEL);
    if after.is_empty() {
        return None;
    }
    let ours = own_finalizers(current);
    let is_ours = |name: &String| ours.contains(name) || !before.contains(name);
    let held = after.iter().any(is_ours);
    holder.map(OperatorId::as_str).or(there).filter(|_| held)
}

/// Returns the finalizers that our field manager set. The operator removes no others on its own.
pub fn own_finalizers(cr: &Object) -> Vec<String> {
    // Most custom resources have no finalizer of ours; a field manager's name is a hash.
    if cr.managed.iter().all(|entry| entry.subresource.is_some()) {
        return Vec::new();
    }
    let manager = field_manager(&cr.object_ref());
    cr.managed_by(&manager, None)
        .flat_map(|entry| match &entry.value()["f:metadata"]["f:finalizers"] {
            Value::Object(items) => items.keys().filter_map(|key| set_member(key)).collect(),
            _ => Vec::new(),
        })
        .collect()
}

/// Returns the value of the set member `v:"name"`.
fn set_member(key: &str) -> Option<String> {
    serde_json::from_str(key.strip_prefix("v:")?).ok()
}

fn body(
    current: &Object,
    before: &CleanupState,
    after: &CleanupState,
    label: Option<&str>,
) -> Value {
    let mut body = json!({"metadata": {
        "uid": current.uid,
        "resourceVersion": current.resource_version,
        "finalizers": after.finalizers,
    }});
    if label != current.label(HELD_BY_LABEL) {
        body["metadata"]["labels"][HELD_BY_LABEL] = json!(label);
    }
    if after.children != before.children {
        body["metadata"]["annotations"][CHILDREN] = json!(after.children.annotation_value());
    }
    body
}

async fn patch(
    cluster: &Cluster,
    reference: &ObjectRef,
    body: &Value,
) -> Result<Arc<Object>, cluster::Error> {
    let options = WriteOptions {
        manager: field_manager(reference),
        ..WriteOptions::default()
    };
    let body = body.to_string().into();
    let written = cluster
        .patch(reference, PatchKind::Merge, body, &options)
        .await?;
    Ok(written.object)
}

/// Adds children that owner references cannot reach to the list of their custom resource before they
/// are created, and adds the cleanup finalizer if such children are deleted with it. So a crash in
/// between leaves no unknown child behind.
pub struct ChildRegistrar {
    cluster: Cluster,
    holder: Option<OperatorId>,
    finalizer: bool,
    /// The last known custom resource and its cleanup state.
    cr: Mutex<(Arc<Object>, CleanupState)>,
}

impl ChildRegistrar {
    /// Creates a registrar for a custom resource. `cluster` must be without a fence, because the
    /// write is the runtime's own. `finalizer` is true if the custom resource gets the cleanup
    /// finalizer.
    pub fn new(
        cluster: Cluster,
        cr: Arc<Object>,
        holder: Option<OperatorId>,
        finalizer: bool,
    ) -> Self {
        let holds = CleanupState::read_from(&cr);
        Self {
            cluster,
            holder,
            finalizer,
            cr: Mutex::new((cr, holds)),
        }
    }

    /// Waits until the custom resource lists the child and has the finalizer. Sends no request if
    /// both are so already.
    pub async fn register(&self, child: &ObjectRef) -> Result<(), Error> {
        let mut held = self.cr.lock().await;
        let (cr, holds) = &*held;
        if holds.children.contains(child) && (!self.finalizer || holds.has_cleanup()) {
            return Ok(());
        }
        let reference = cr.object_ref();
        let mut list = holds.children.clone();
        if !list.add(child) {
            return Err(Error::ListFull {
                cr: reference,
                object: child.clone(),
            });
        }
        let written =
            update_cleanup_state(&self.cluster, cr, self.holder.as_ref(), |current, holds| {
                holds.children.add(child);
                // The API accepts no new finalizer for an object that is being deleted.
                if self.finalizer && !current.deleting && !holds.has_cleanup() {
                    holds.finalizers.push(CLEANUP_FINALIZER.to_owned());
                }
            });
        let gone = || Error::OwnerGone { cr: reference };
        let Some(written) = written.await? else {
            return Err(gone());
        };
        let holds = CleanupState::read_from(&written);
        if self.finalizer && !holds.has_cleanup() {
            return Err(gone());
        }
        *held = (written, holds);
        Ok(())
    }
}

impl fmt::Debug for ChildRegistrar {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard").finish_non_exhaustive()
    }
}

/// Removes the children from the list that are not in `kept`, and the cleanup finalizer with the last
/// child. Sends no request if nothing changes. Returns `None` if the custom resource no longer exists.
pub async fn retain_children(
    cluster: &Cluster,
    cr: &Arc<Object>,
    kept: &BTreeSet<ObjectRef>,
) -> Result<Option<Arc<Object>>, cluster::Error> {
    let kept: BTreeSet<String> = kept.iter().map(ToString::to_string).collect();
    update_cleanup_state(cluster, cr, None, |current, holds| {
        holds.children.retain(&kept);
        if holds.children.is_empty()
            && own_finalizers(current)
                .iter()
                .any(|name| name == CLEANUP_FINALIZER)
        {
            holds.finalizers.retain(|name| name != CLEANUP_FINALIZER);
        }
    })
    .await
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gvk;

    fn cr(ours: &[&str], labels: &Value) -> Object {
        let gvk = Gvk::new("g", "v1", "K");
        let manager = field_manager(&ObjectRef::new(gvk.clone(), None, "x"));
        let fields = ours.iter().map(|name| (format!("v:\"{name}\""), json!({})));
        let fields: serde_json::Map<_, _> = fields.collect();
        let whole = json!({"metadata": {"name": "x", "labels": labels, "managedFields": [
            {"manager": manager, "operation": "Update",
             "fieldsV1": {"f:metadata": {"f:finalizers": fields}}},
            {"manager": "kubectl", "operation": "Update", "fieldsV1": {"f:metadata": {
                "f:finalizers": {"v:\"theirs\"": {}},
            }}},
        ]}});
        Object::from_value(&gvk, &whole).unwrap()
    }

    fn labelled(ours: &[&str], before: &[&str], after: &[&str], there: &Value) -> Option<String> {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let (cr, holder) = (cr(ours, there), OperatorId::new("n", "o"));
        holder_label(&cr, &owned(before), &owned(after), Some(&holder)).map(str::to_owned)
    }

    #[test]
    fn ours_are_those_that_our_manager_set() {
        let cr = cr(&["example.com/f", "rhai.operator/cleanup"], &json!({}));
        assert_eq!(
            own_finalizers(&cr),
            ["example.com/f", "rhai.operator/cleanup"]
        );
    }

    #[test]
    fn the_label_comes_with_the_first_finalizer_and_goes_with_the_last() {
        let (none, other) = (json!({}), json!({HELD_BY_LABEL: "another"}));
        let held = Some("n.o".to_owned());
        assert_eq!(labelled(&[], &["theirs"], &["theirs", "f"], &none), held);
        assert_eq!(labelled(&["f"], &["f"], &["f"], &other), held, "taken over");
        assert_eq!(labelled(&["f", "g"], &["f", "g"], &["g"], &other), held);
        assert_eq!(
            labelled(&["f"], &["theirs", "f"], &["theirs"], &other),
            None
        );
        assert_eq!(labelled(&[], &["theirs"], &["theirs"], &none), None);
    }
}
