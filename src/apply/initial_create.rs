//! The first write of a child: a create, which costs the server a fifth less than an apply.
//!
//! What a create sends is then owned by an `Update` entry (the server's defaults too), named after the
//! custom resource and a hash of what was sent ([`creation_manager`]): after a restart that says
//! whether the role still wants the same. Applies add their own entry beside it and take over what
//! they change. A field that an apply no longer has would stay, for the other entry owns it still; so
//! before a role gives a field up, the entry becomes the apply's.

use bytes::Bytes;
use serde_json::{Value, json};

use super::{Error, Owner};
use crate::cluster::conflict_retry::ConflictRetry;
use crate::cluster::request::{PatchKind, WriteOptions, Written};
use crate::cluster::{self, Cluster, ErrorKind};
use crate::model::object::Managed;
use crate::model::owner::{creation_manager, is_manager};
use crate::model::{Object, ObjectRef};

/// Creates an object that is believed to be absent: where it is not, the server refuses, so nothing
/// that exists is taken over.
pub(super) async fn create(
    cluster: &Cluster,
    owner: &Owner,
    object: &ObjectRef,
    body: &Bytes,
) -> Result<Written, cluster::Error> {
    let options = WriteOptions {
        manager: creation_manager(&owner.manager, body),
        // An apply refuses unknown fields, so a create does.
        strict: true,
        ..WriteOptions::default()
    };
    let namespace = object.namespace.as_deref();
    cluster
        .create(&object.gvk, namespace, body.clone(), &options)
        .await
}

/// What our applies and our create own of a child; other updates of ours (`k8s_patch`) apart.
pub(super) fn own_entries<'a>(
    owner: &'a Owner,
    live: &'a Object,
) -> impl Iterator<Item = &'a Managed> {
    live.managed_by(&owner.manager, None)
        .filter(|entry| entry.apply || is_creation(owner, &entry.manager))
}

/// Returns whether an entry is that of a create of just this.
pub(super) fn matches_creation(owner: &Owner, entry: &Managed, body: &Value) -> bool {
    *entry.manager == creation_manager(&owner.manager, body.to_string().as_bytes())
}

/// Returns whether a create still owns anything of the object.
pub(super) fn has_creation_entry(owner: &Owner, live: &Object) -> bool {
    own_entries(owner, live).any(|entry| !entry.apply)
}

fn is_creation(owner: &Owner, manager: &str) -> bool {
    is_manager(manager, &owner.manager) && *manager != *owner.manager
}

/// Gives what the create owns to the apply: its entry is renamed, or dropped where there has been an
/// apply, which then owns all that was asked for.
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

/// Returns whether there was an entry of a create.
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
