//! Checks that the writer of an owner reference with `blockOwnerDeletion` can set finalizers on the owner.
//!
//! Not every cluster enables this admission plugin. `OpenShift` does. The server enables it, so that
//! permissions that suffice here suffice on every cluster.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/#ownerreferencespermissionenforcement>

use serde_json::Value;

use super::request::ResourceRequest;
use super::transaction::Transaction;
use super::{admission, metadata};
use crate::access::{Attributes, rbac};
use crate::error::ApiError;

/// Refuses owner references that the writer has no permission to set.
pub(super) fn check(
    tx: &Transaction<'_>,
    call: &ResourceRequest,
    object: &Value,
    live: Option<&Value>,
) -> Result<(), ApiError> {
    let before = live.map(references).unwrap_or_default();
    let after = references(object);
    if before == after || &**call.resource.id() == "pods" && call.subresource == "status" {
        return Ok(());
    }
    let refused = |why: String| Err(admission::forbidden(call, metadata::name(object), &why));
    if live.is_some() && !may(tx, call, &deletion(call)) {
        let why = "cannot set an ownerRef on a resource you can't delete: , <nil>";
        return refused(why.to_owned());
    }
    let blocks = |one: &&&Value| one["blockOwnerDeletion"] == true;
    let held: Vec<&Value> = (before.iter().filter(blocks))
        .map(|one| &one["uid"])
        .collect();
    // Permission to set finalizers on all resources makes the check of each owner unnecessary.
    if may(tx, call, &finalizers("*", "*", "", "*")) {
        return Ok(());
    }
    for reference in after
        .iter()
        .filter(blocks)
        .filter(|one| !held.contains(&&one["uid"]))
    {
        let text = |field: &str| reference[field].as_str().unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let Some(owner) = tx.resource_of_kind(version, kind) else {
            return refused(format!(
                "cannot set blockOwnerDeletion in this case because cannot find RESTMapping for \
                 APIVersion {version} Kind {kind}: no matches for kind {kind:?} in version {version:?}"
            ));
        };
        let namespace = if owner.namespaced {
            &*call.namespace
        } else {
            ""
        };
        let wanted = finalizers(&owner.group, &owner.plural, namespace, text("name"));
        if !may(tx, call, &wanted) {
            let why = "cannot set blockOwnerDeletion if an ownerReference refers to a resource you \
                       can't set finalizers on: , <nil>";
            return refused(why.to_owned());
        }
    }
    Ok(())
}

fn references(object: &Value) -> Vec<&Value> {
    let list = object["metadata"]["ownerReferences"].as_array();
    list.into_iter().flatten().collect()
}

/// Returns the permission to set finalizers on an owner.
fn finalizers(group: &str, resource: &str, namespace: &str, name: &str) -> Attributes {
    Attributes {
        verb: "update".to_owned(),
        group: group.to_owned(),
        resource: resource.to_owned(),
        subresource: "finalizers".to_owned(),
        namespace: namespace.to_owned(),
        name: name.to_owned(),
        path: None,
    }
}

/// Returns the permission to delete the object of the request.
fn deletion(call: &ResourceRequest) -> Attributes {
    Attributes {
        verb: "delete".to_owned(),
        group: call.resource.group.to_string(),
        resource: call.resource.plural.to_string(),
        subresource: call.subresource.clone(),
        namespace: call.namespace.clone(),
        name: call.name.clone(),
        path: None,
    }
}

fn may(tx: &Transaction<'_>, call: &ResourceRequest, attributes: &Attributes) -> bool {
    rbac::is_allowed(&call.user, attributes, tx)
}
