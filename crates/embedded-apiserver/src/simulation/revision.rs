//! `ControllerRevisions`: the current and earlier templates of StatefulSets and DaemonSets.

use serde_json::{Map, Value, json};

use super::hash;
use super::objects::{
    controlled, create, delete, name, namespace, number, owner_reference, update,
};
use crate::builtin::path::text;
use crate::registry::Transaction;

const RESOURCE: &str = "controllerrevisions.apps";

/// The name and the hash of a `ControllerRevision`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Revision {
    /// `web-7457899fbc`
    pub(super) name: String,
    /// `7457899fbc`
    pub(super) hash: String,
}

/// Returns the revision of an owner's current template, and creates it if it is missing. `label` is the label
/// with the hash.
pub(super) fn ensure(tx: &mut Transaction<'_>, owner: &Value, label: &str) -> Option<Revision> {
    let mut template = owner["spec"]["template"].clone();
    template["$patch"] = json!("replace");
    let data = json!({"spec": {"template": template}});
    let revisions = controlled(tx, RESOURCE, owner);
    let newest = revisions.iter().map(|one| number(one, &["revision"])).max();
    let newest = newest.unwrap_or_default();
    if let Some(found) = revisions.iter().find(|one| one["data"] == data) {
        if number(found, &["revision"]) < newest {
            let mut found = (**found).clone();
            found["revision"] = json!(newest + 1);
            update(tx, RESOURCE, found);
        }
        let hash = text(found, &["metadata", "labels", label]).to_owned();
        return Some(Revision {
            name: name(found).to_owned(),
            hash,
        });
    }
    let hash = hash::template(
        &owner["spec"]["template"],
        number(owner, &["status", "collisionCount"]),
    );
    let labels = owner["spec"]["template"]["metadata"]["labels"].as_object();
    let mut labels: Map<String, Value> = labels.cloned().unwrap_or_default();
    labels.insert(label.to_owned(), json!(hash));
    let revision = json!({
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {
            "name": format!("{}-{hash}", name(owner)),
            "namespace": namespace(owner),
            "labels": labels,
            "ownerReferences": [owner_reference(owner)],
        },
        "data": data,
        "revision": newest + 1,
    });
    let made = create(tx, RESOURCE, revision).ok()?;
    Some(Revision {
        name: name(&made).to_owned(),
        hash,
    })
}

/// Deletes unused revisions beyond the history limit, the oldest first.
pub(super) fn clean(tx: &mut Transaction<'_>, owner: &Value, in_use: &[&str]) {
    let limit = usize::try_from(number(owner, &["spec", "revisionHistoryLimit"]));
    let mut old = controlled(tx, RESOURCE, owner);
    old.retain(|one| !in_use.contains(&name(one)));
    old.sort_by_key(|one| number(one, &["revision"]));
    let excess = old.len().saturating_sub(limit.unwrap_or_default());
    for one in old.iter().take(excess) {
        delete(tx, RESOURCE, one);
    }
}
