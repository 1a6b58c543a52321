//! Ownership of children: owner references and field managers.

use std::hash::Hasher;

use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_64;

use super::ObjectRef;

/// The prefix of all field managers of the runtime. A hash of the CR follows.
pub(crate) const FIELD_MANAGER_PREFIX: &str = "rhai-operator/";

/// An entry of `metadata.ownerReferences`.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct OwnerReference {
    /// `apiVersion` of the owner.
    pub api_version: String,
    /// Kind of the owner.
    pub kind: String,
    /// Name of the owner, in the same namespace or cluster-scoped.
    pub name: String,
    /// Uid of the owner.
    pub uid: String,
    /// True if the owner is the controller. At most one owner is.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub controller: bool,
    /// True if foreground deletion of the owner waits for this object.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub block_owner_deletion: bool,
}

/// Returns the field manager of a CR: `rhai-operator/<16 hex digits>`. It does not depend on the role.
///
/// The hash covers group, kind, namespace and name, so that a new API version keeps the manager.
pub(crate) fn field_manager(cr: &ObjectRef) -> String {
    let mut hasher = XxHash3_64::new();
    for part in [
        &*cr.gvk.group,
        &*cr.gvk.kind,
        cr.namespace_or_empty(),
        &*cr.name,
    ] {
        hasher.write(part.as_bytes());
        // No name contains this byte, so different parts never give the same input of the hash.
        hasher.write(&[0]);
    }
    format!("{FIELD_MANAGER_PREFIX}{:016x}", hasher.finish())
}

/// Returns the field manager of a create: the manager of the CR, and a hash of the created object.
///
/// With the hash, a new process can decide whether a child is as the role wants it. The `Update` entry of
/// a create alone cannot show this, because it also owns the server's defaults.
pub(crate) fn creation_manager(manager: &str, body: &[u8]) -> String {
    format!("{manager}/{:016x}", XxHash3_64::oneshot(body))
}

/// Returns whether a field manager is `manager`, or that of a create by `manager`.
pub(crate) fn is_manager(name: &str, manager: &str) -> bool {
    name.strip_prefix(manager)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gvk;

    #[test]
    fn parts_of_a_name_do_not_run_into_each_other() {
        let gvk = Gvk::new("g", "v1", "K");
        let one = ObjectRef::new(gvk.clone(), Some("ab"), "c");
        let other = ObjectRef::new(gvk, Some("a"), "bc");
        assert_ne!(field_manager(&one), field_manager(&other));
    }

    #[test]
    fn an_initial_create_is_recognized_by_manager_and_object() {
        let created = creation_manager("rhai-operator/a", b"x");
        assert_ne!(created, creation_manager("rhai-operator/a", b"y"));
        assert!(is_manager(&created, "rhai-operator/a"));
        assert!(is_manager("rhai-operator/a", "rhai-operator/a"));
        assert!(!is_manager("rhai-operator/ab", "rhai-operator/a"));
    }

    #[test]
    fn a_new_version_keeps_the_manager() {
        let old = ObjectRef::new(Gvk::new("g", "v1alpha1", "K"), Some("n"), "x");
        let new = ObjectRef::new(Gvk::new("g", "v1", "K"), Some("n"), "x");
        assert_eq!(field_manager(&old), field_manager(&new));
        assert_eq!(field_manager(&old).len(), FIELD_MANAGER_PREFIX.len() + 16);
    }
}
