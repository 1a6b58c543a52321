//! Names of the labels, annotations and finalizers that the runtime reads or writes.

/// Label on every child: the uid of the custom resource that owns it.
pub const OWNER_LABEL: &str = "rhai.operator/owner";
/// Label on objects made by `k8s_create`: with the value `never` they are not pruned.
pub const PRUNE_LABEL: &str = "rhai.operator/prune";
/// Annotation on a CR: its periodic resync, a Go duration.
pub const RECONCILE_PERIOD: &str = "rhai.operator/reconcile-period";
/// The names of [`RECONCILE_PERIOD`] in the Ansible operator, which the runtime accepts too.
pub const ANSIBLE_RECONCILE_PERIODS: [&str; 2] = [
    "ansible.sdk.operatorframework.io/reconcile-period",
    "ansible.operator-sdk/reconcile-period",
];
/// Annotation on a CR: a new value triggers a run.
pub const RECONCILE_AT: &str = "rhai.operator/reconcile-at";
/// Annotation on a CR: `"true"` stops all runs, also those of a deletion.
pub const PAUSED: &str = "rhai.operator/paused";
/// Finalizer that the runtime sets on a CR with children that garbage collection cannot reach.
pub const CLEANUP_FINALIZER: &str = "rhai.operator/cleanup";
/// Annotation on a CR: its children that owner references cannot reach, a JSON list.
pub const CHILDREN: &str = "rhai.operator/children";
/// Annotation on a CR: since when steps of its role wait, and how often they failed.
pub const STEPS: &str = "rhai.operator/steps";
/// Label on a CR with finalizers of the runtime: the operator that set them.
pub const HELD_BY_LABEL: &str = "rhai.operator/held-by";
/// Annotation on a child without owner reference: `namespace/name` (or `name`) of its CR.
pub const PRIMARY_RESOURCE: &str = "operator-sdk/primary-resource";
/// Annotation on a child without owner reference: `Kind.group` of its CR.
pub const PRIMARY_RESOURCE_TYPE: &str = "operator-sdk/primary-resource-type";
