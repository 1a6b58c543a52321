//! Rules for writes in the form of data, from the create and update strategies of the real server.

use super::version::Version;

/// The rules for writes of a resource.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "facts that do not depend on each other"
)]
pub struct Strategy {
    /// True if a PUT creates an object that does not exist.
    pub create_on_update: bool,
    /// True if a PUT can have no `resourceVersion`.
    pub unconditional_update: bool,
    /// The changes that increment `metadata.generation`.
    pub generation: Generation,
    /// True if a write to the object cannot change its `status`.
    pub status: bool,
    /// True if a deletion without a propagation policy orphans the dependents.
    pub orphan_by_default: bool,
    /// True if a deletion has a grace period.
    pub graceful: bool,
    /// True if the response to a deletion is the object, not a Status.
    pub returns_deleted: bool,
}

/// The changes that increment the generation of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Generation {
    /// No change increments it here. The preparation of the kind can.
    None,
    /// A change of `spec`.
    Spec,
    /// A change of anything but metadata and status.
    AllButStatus,
    /// A change of anything but metadata.
    All,
}

const CREATE_ON_UPDATE: &[&str] = &[
    "leases.coordination.k8s.io",
    "events",
    "events.events.k8s.io",
    "limitranges",
    "services",
    "endpoints",
    "roles.rbac.authorization.k8s.io",
    "rolebindings.rbac.authorization.k8s.io",
    "clusterroles.rbac.authorization.k8s.io",
    "clusterrolebindings.rbac.authorization.k8s.io",
    "runtimeclasses.node.k8s.io",
];

/// The resources that require a `resourceVersion` in a PUT.
const CONDITIONAL: &[&str] = &[
    "customresourcedefinitions.apiextensions.k8s.io",
    "apiservices.apiregistration.k8s.io",
    "leases.coordination.k8s.io",
    "runtimeclasses.node.k8s.io",
    "ingressclasses.networking.k8s.io",
    "csidrivers.storage.k8s.io",
    "csinodes.storage.k8s.io",
    "csistoragecapacities.storage.k8s.io",
    "storageclasses.storage.k8s.io",
    "poddisruptionbudgets.policy",
    "validatingadmissionpolicies.admissionregistration.k8s.io",
    "validatingadmissionpolicybindings.admissionregistration.k8s.io",
    "mutatingadmissionpolicies.admissionregistration.k8s.io",
    "mutatingadmissionpolicybindings.admissionregistration.k8s.io",
    "mutatingwebhookconfigurations.admissionregistration.k8s.io",
    "validatingwebhookconfigurations.admissionregistration.k8s.io",
    "endpointslices.discovery.k8s.io",
    "priorityclasses.scheduling.k8s.io",
    "resourceclaims.resource.k8s.io",
];

impl Strategy {
    /// Returns the rules of a built-in resource.
    pub(super) fn builtin(id: &str, version: &Version) -> Self {
        Self {
            create_on_update: CREATE_ON_UPDATE.contains(&id),
            unconditional_update: !CONDITIONAL.contains(&id),
            generation: generation(id),
            status: version.subresource("status").is_some(),
            orphan_by_default: matches!(id, "jobs.batch" | "replicationcontrollers"),
            graceful: id == "pods",
            returns_deleted: matches!(id, "pods" | "namespaces" | "services" | "serviceaccounts"),
        }
    }

    /// Returns the rules of a custom resource.
    pub fn custom(status: bool) -> Self {
        Self {
            create_on_update: false,
            unconditional_update: false,
            generation: if status {
                Generation::AllButStatus
            } else {
                Generation::All
            },
            status,
            orphan_by_default: false,
            graceful: false,
            returns_deleted: false,
        }
    }
}

/// Returns the changes that increment the generation of a built-in kind. Except for custom resource
/// definitions, the preparation code of the kind increments it.
fn generation(id: &str) -> Generation {
    match id {
        "customresourcedefinitions.apiextensions.k8s.io" => Generation::Spec,
        _ => Generation::None,
    }
}
