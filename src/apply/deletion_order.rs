//! In what order things are taken down: last things first.
//!
//! Things are in place in the order of what they need: namespaces and definitions first, then
//! identities, configuration and services, then workloads, last the objects of other operators. They
//! go the other way round, so that what cleans up after an object is there until the object is gone.

use crate::model::Gvk;

/// When a kind is put in place: a greater one later, and gone earlier.
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
        // They would refuse what is left, with nobody there to answer for them.
        ("admissionregistration.k8s.io" | "apiregistration.k8s.io", _) => 11,
        _ => 12,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_needed_outlives_what_needs_it() {
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
