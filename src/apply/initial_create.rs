//! Creates children that do not exist yet. A create costs the server a fifth less than an apply.
//!
//! After a create, an `Update` entry owns the sent fields and the server's defaults. Its manager
//! ([`creation_manager`]) contains the custom resource and a hash of the sent object, so that an
//! operator that restarted can compare it with the object that the role wants. Later applies add an
//! entry of their own and take over the fields that they change. A field that the role no longer sets
//! would stay, because the `Update` entry still owns it. So before the role gives up a field, the
//! operator converts that entry to one of the apply.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Error, Owner};
use crate::cluster::conflict_retry::ConflictRetry;
use crate::cluster::request::{PatchKind, WriteOptions, WriteResponse};
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::object::Managed;
use crate::model::owner::{creation_manager, is_manager};
use crate::model::{Object, ObjectRef};

/// Creates an object that does not exist in the cache. If it exists on the server, the server refuses
/// the request, so the operator takes over nothing.
pub(super) async fn create(
    cluster: &Cluster,
    owner: &Owner,
    object: &ObjectRef,
    body: &Bytes,
) -> Result<WriteResponse, cluster::Error> {
    let options = WriteOptions {
        manager: creation_manager(&owner.manager, body),
        // An apply refuses unknown fields, so a create must do so too.
        strict: true,
        ..WriteOptions::default()
    };
    let namespace = object.namespace.as_deref();
    cluster
        .create(&object.gvk, namespace, body.clone(), &options)
        .await
}

/// Returns the entries of this owner's applies and creates, without other updates such as those of
/// `k8s_patch`.
pub(super) fn own_entries<'a>(
    owner: &'a Owner,
    live: &'a Object,
) -> impl Iterator<Item = &'a Managed> {
    live.managed_by(&owner.manager, None)
        .filter(|entry| entry.apply || is_creation(owner, &entry.manager))
}

/// Returns whether an entry belongs to a create of this body.
pub(super) fn matches_creation(owner: &Owner, entry: &Managed, body: &Value) -> bool {
    *entry.manager == creation_manager(&owner.manager, body.to_string().as_bytes())
}

/// Returns whether a create still owns fields of the object.
pub(super) fn has_creation_entry(owner: &Owner, live: &Object) -> bool {
    own_entries(owner, live).any(|entry| !entry.apply)
}

fn is_creation(owner: &Owner, manager: &str) -> bool {
    is_manager(manager, &owner.manager) && *manager != *owner.manager
}

/// Converts the entry of a create: it becomes the entry of an apply. If an apply entry exists, it
/// already owns all wanted fields, and the entry of the create is removed.
pub(super) async fn convert_to_apply(
    cluster: &Cluster,
    owner: &Owner,
    object: &ObjectRef,
) -> Result<(), Error> {
    let options = WriteOptions {
        manager: owner.manager.to_string(),
        ..WriteOptions::default()
    };
    let mut attempts = ConflictRetry::default();
    loop {
        let Some(mut live) = cluster.server_metadata(object).await? else {
            return Ok(());
        };
        if !convert_entries(owner, &mut live.managed_fields) {
            return Ok(());
        }
        let metadata = json!({
            "uid": live.uid,
            "resourceVersion": live.resource_version,
            "managedFields": live.managed_fields,
        });
        let patch = json!({ "metadata": metadata }).to_string().into();
        let sent = cluster.patch(object, PatchKind::Merge, patch, &options);
        match sent.await {
            Err(error) if error.kind == ErrorKind::Conflict => {
                if !attempts.wait_for_retry().await {
                    return Err(error.into());
                }
            }
            sent => return sent.map(drop).map_err(Into::into),
        }
    }
}

/// Returns whether the list contained an entry of a create.
fn convert_entries(owner: &Owner, entries: &mut Vec<Value>) -> bool {
    let text = |entry: &Value, key: &str| entry[key].as_str().unwrap_or_default().to_owned();
    let whole = |entry: &Value| entry["subresource"].is_null();
    let created = |entry: &Value| whole(entry) && is_creation(owner, &text(entry, "manager"));
    let applied = entries.iter().any(|entry| {
        whole(entry)
            && text(entry, "operation") == "Apply"
            && text(entry, "manager") == *owner.manager
    });
    let before = entries.len();
    if applied {
        entries.retain(|entry| !created(entry));
        return entries.len() < before;
    }
    let Some(entry) = entries.iter_mut().find(|entry| created(entry)) else {
        return false;
    };
    entry["manager"] = json!(owner.manager);
    entry["operation"] = json!("Apply");
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    fn owner() -> Owner {
        Owner::new(&testing::owner(Some("n")))
    }

    fn entry(manager: &str, operation: &str) -> Value {
        json!({"manager": manager, "operation": operation, "fieldsV1": {"f:data": {}}})
    }

    #[test]
    fn a_creates_entry_becomes_the_applys() {
        let owner = owner();
        let created = creation_manager(&owner.manager, b"x");
        let mut entries = vec![entry("kubectl", "Update"), entry(&created, "Update")];
        assert!(convert_entries(&owner, &mut entries));
        assert_eq!(
            entries,
            [entry("kubectl", "Update"), entry(&owner.manager, "Apply")]
        );
        assert!(!convert_entries(&owner, &mut entries));
    }

    #[test]
    fn a_creates_entry_beside_the_applys_goes() {
        let owner = owner();
        let created = creation_manager(&owner.manager, b"x");
        let mut entries = vec![entry(&owner.manager, "Apply"), entry(&created, "Update")];
        assert!(convert_entries(&owner, &mut entries));
        assert_eq!(entries, [entry(&owner.manager, "Apply")]);
    }

    #[test]
    fn an_update_of_ours_that_was_no_create_stays() {
        let owner = owner();
        let mut entries = vec![entry(&owner.manager, "Update")];
        assert!(!convert_entries(&owner, &mut entries));
        assert_eq!(entries, [entry(&owner.manager, "Update")]);
    }
}
