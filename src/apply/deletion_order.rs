//! Orders the deletion of children: the last created are deleted first.
//!
//! Objects are created in the order of their needs: namespaces and definitions first, then identities,
//! configuration and services, then workloads, and custom resources of other operators last. Deletion
//! goes in reverse, so that the workload that cleans up after an object exists until the object is
//! deleted.

use crate::model::Gvk;

/// Returns the rank of a kind: kinds of a greater rank are created later and deleted earlier.
pub(super) fn creation_rank(gvk: &Gvk) -> u8 {
    match (&*gvk.group, &*gvk.kind) {
        ("", "Namespace") => 0,
        ("apiextensions.k8s.io", _) => 1,
        ("scheduling.k8s.io" | "storage.k8s.io" | "node.k8s.io", _) => 2,
        ("", "ResourceQuota" | "LimitRange") | ("policy" | "networking.k8s.io", _) => 3,
        ("", "ServiceAccount") => 4,
        ("rbac.authorization.k8s.io", "Role" | "ClusterRole") => 5,
        ("rbac.authorization.k8s.io", _) => 6,
        ("", "Secret" | "ConfigMap" | "PersistentVolume" | "PersistentVolumeClaim") => 7,
        ("", "Service" | "Endpoints") | ("discovery.k8s.io", _) => 8,
        ("" | "apps" | "batch", _) => 9,
        ("autoscaling", _) => 10,
        // Without their workloads, webhooks and aggregated APIs would refuse all other deletions.
        ("admissionregistration.k8s.io" | "apiregistration.k8s.io", _) => 11,
        _ => 12,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dependencies_are_deleted_after_their_dependents() {
        let down = [
            ("example.com", "Widget"),
            ("apps", "Deployment"),
            ("", "Service"),
            ("", "ConfigMap"),
            ("rbac.authorization.k8s.io", "RoleBinding"),
            ("rbac.authorization.k8s.io", "Role"),
            ("", "ServiceAccount"),
            ("apiextensions.k8s.io", "CustomResourceDefinition"),
            ("", "Namespace"),
        ];
        let ranks = down.map(|(group, kind)| creation_rank(&Gvk::new(group, "v1", kind)));
        assert!(ranks.is_sorted_by(|a, b| a > b), "{ranks:?}");
    }
}
