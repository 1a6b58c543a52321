//! Defaults that do not depend on other fields.

use serde_json::{Value, json};

/// A constant default.
#[derive(Clone, Copy)]
pub(super) enum Constant {
    /// A string.
    Text(&'static str),
    /// A number.
    Number(i64),
    /// A boolean.
    Bool(bool),
    /// An empty struct, which can have its own defaults.
    Struct,
}

use Constant::{Bool, Number, Struct, Text};

impl Constant {
    /// Returns the value as JSON.
    pub(super) fn json(self) -> Value {
        match self {
            Text(text) => json!(text),
            Number(number) => json!(number),
            Bool(bool) => json!(bool),
            Struct => json!({}),
        }
    }
}

/// The type, the field and the default.
type Row = (&'static str, &'static str, Constant);

/// Returns the constant defaults of a type.
pub(super) fn constants_of(name: &str) -> impl Iterator<Item = &'static Row> {
    TABLE.iter().filter(move |(owner, _, _)| *owner == name)
}

/// `rw-r--r--`
const FILE_MODE: Constant = Number(0o644);

const TABLE: &[Row] = &[
    (
        "admissionregistration/v1.MatchResources",
        "matchPolicy",
        Text("Equivalent"),
    ),
    (
        "admissionregistration/v1.MatchResources",
        "namespaceSelector",
        Struct,
    ),
    (
        "admissionregistration/v1.MatchResources",
        "objectSelector",
        Struct,
    ),
    (
        "admissionregistration/v1.MutatingAdmissionPolicySpec",
        "failurePolicy",
        Text("Fail"),
    ),
    (
        "admissionregistration/v1.MutatingWebhook",
        "failurePolicy",
        Text("Fail"),
    ),
    (
        "admissionregistration/v1.MutatingWebhook",
        "matchPolicy",
        Text("Equivalent"),
    ),
    (
        "admissionregistration/v1.MutatingWebhook",
        "namespaceSelector",
        Struct,
    ),
    (
        "admissionregistration/v1.MutatingWebhook",
        "objectSelector",
        Struct,
    ),
    (
        "admissionregistration/v1.MutatingWebhook",
        "reinvocationPolicy",
        Text("Never"),
    ),
    (
        "admissionregistration/v1.MutatingWebhook",
        "timeoutSeconds",
        Number(10),
    ),
    ("admissionregistration/v1.Rule", "scope", Text("*")),
    (
        "admissionregistration/v1.ServiceReference",
        "port",
        Number(443),
    ),
    (
        "admissionregistration/v1.ValidatingAdmissionPolicySpec",
        "failurePolicy",
        Text("Fail"),
    ),
    (
        "admissionregistration/v1.ValidatingWebhook",
        "failurePolicy",
        Text("Fail"),
    ),
    (
        "admissionregistration/v1.ValidatingWebhook",
        "matchPolicy",
        Text("Equivalent"),
    ),
    (
        "admissionregistration/v1.ValidatingWebhook",
        "namespaceSelector",
        Struct,
    ),
    (
        "admissionregistration/v1.ValidatingWebhook",
        "objectSelector",
        Struct,
    ),
    (
        "admissionregistration/v1.ValidatingWebhook",
        "timeoutSeconds",
        Number(10),
    ),
    ("apps/v1.DaemonSetSpec", "revisionHistoryLimit", Number(10)),
    (
        "apps/v1.DeploymentSpec",
        "progressDeadlineSeconds",
        Number(600),
    ),
    ("apps/v1.DeploymentSpec", "replicas", Number(1)),
    ("apps/v1.DeploymentSpec", "revisionHistoryLimit", Number(10)),
    ("apps/v1.ReplicaSetSpec", "replicas", Number(1)),
    (
        "apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
        "whenDeleted",
        Text("Retain"),
    ),
    (
        "apps/v1.StatefulSetPersistentVolumeClaimRetentionPolicy",
        "whenScaled",
        Text("Retain"),
    ),
    (
        "apps/v1.StatefulSetSpec",
        "persistentVolumeClaimRetentionPolicy",
        Struct,
    ),
    (
        "apps/v1.StatefulSetSpec",
        "podManagementPolicy",
        Text("OrderedReady"),
    ),
    ("apps/v1.StatefulSetSpec", "replicas", Number(1)),
    (
        "apps/v1.StatefulSetSpec",
        "revisionHistoryLimit",
        Number(10),
    ),
    (
        "autoscaling/v1.HorizontalPodAutoscalerSpec",
        "minReplicas",
        Number(1),
    ),
    (
        "autoscaling/v2.HorizontalPodAutoscalerSpec",
        "minReplicas",
        Number(1),
    ),
    ("batch/v1.CronJobSpec", "concurrencyPolicy", Text("Allow")),
    ("batch/v1.CronJobSpec", "failedJobsHistoryLimit", Number(1)),
    (
        "batch/v1.CronJobSpec",
        "successfulJobsHistoryLimit",
        Number(3),
    ),
    ("batch/v1.CronJobSpec", "suspend", Bool(false)),
    (
        "batch/v1.PodFailurePolicyOnPodConditionsPattern",
        "status",
        Text("True"),
    ),
    (
        "core/v1.AzureDiskVolumeSource",
        "cachingMode",
        Text("ReadWrite"),
    ),
    ("core/v1.AzureDiskVolumeSource", "fsType", Text("ext4")),
    ("core/v1.AzureDiskVolumeSource", "kind", Text("Shared")),
    ("core/v1.AzureDiskVolumeSource", "readOnly", Bool(false)),
    ("core/v1.ConfigMapVolumeSource", "defaultMode", FILE_MODE),
    (
        "core/v1.Container",
        "terminationMessagePath",
        Text("/dev/termination-log"),
    ),
    (
        "core/v1.Container",
        "terminationMessagePolicy",
        Text("File"),
    ),
    ("core/v1.ContainerPort", "protocol", Text("TCP")),
    ("core/v1.DownwardAPIVolumeSource", "defaultMode", FILE_MODE),
    ("core/v1.EndpointPort", "protocol", Text("TCP")),
    (
        "core/v1.EphemeralContainerCommon",
        "terminationMessagePath",
        Text("/dev/termination-log"),
    ),
    (
        "core/v1.EphemeralContainerCommon",
        "terminationMessagePolicy",
        Text("File"),
    ),
    ("core/v1.FileKeySelector", "optional", Bool(false)),
    ("core/v1.GRPCAction", "service", Text("")),
    ("core/v1.HTTPGetAction", "path", Text("/")),
    ("core/v1.HTTPGetAction", "scheme", Text("HTTP")),
    ("core/v1.HostPathVolumeSource", "type", Text("")),
    (
        "core/v1.ISCSIPersistentVolumeSource",
        "iscsiInterface",
        Text("default"),
    ),
    (
        "core/v1.ISCSIVolumeSource",
        "iscsiInterface",
        Text("default"),
    ),
    ("core/v1.NamespaceStatus", "phase", Text("Active")),
    ("core/v1.ObjectFieldSelector", "apiVersion", Text("v1")),
    (
        "core/v1.PersistentVolumeClaimSpec",
        "volumeMode",
        Text("Filesystem"),
    ),
    (
        "core/v1.PersistentVolumeClaimStatus",
        "phase",
        Text("Pending"),
    ),
    (
        "core/v1.PersistentVolumeSpec",
        "persistentVolumeReclaimPolicy",
        Text("Retain"),
    ),
    (
        "core/v1.PersistentVolumeSpec",
        "volumeMode",
        Text("Filesystem"),
    ),
    ("core/v1.PersistentVolumeStatus", "phase", Text("Pending")),
    ("core/v1.PodSpec", "dnsPolicy", Text("ClusterFirst")),
    ("core/v1.PodSpec", "restartPolicy", Text("Always")),
    (
        "core/v1.PodSpec",
        "schedulerName",
        Text("default-scheduler"),
    ),
    ("core/v1.PodSpec", "securityContext", Struct),
    (
        "core/v1.PodSpec",
        "terminationGracePeriodSeconds",
        Number(30),
    ),
    ("core/v1.Probe", "failureThreshold", Number(3)),
    ("core/v1.Probe", "periodSeconds", Number(10)),
    ("core/v1.Probe", "successThreshold", Number(1)),
    ("core/v1.Probe", "timeoutSeconds", Number(1)),
    ("core/v1.ProjectedVolumeSource", "defaultMode", FILE_MODE),
    (
        "core/v1.RBDPersistentVolumeSource",
        "keyring",
        Text("/etc/ceph/keyring"),
    ),
    ("core/v1.RBDPersistentVolumeSource", "pool", Text("rbd")),
    ("core/v1.RBDPersistentVolumeSource", "user", Text("admin")),
    (
        "core/v1.RBDVolumeSource",
        "keyring",
        Text("/etc/ceph/keyring"),
    ),
    ("core/v1.RBDVolumeSource", "pool", Text("rbd")),
    ("core/v1.RBDVolumeSource", "user", Text("admin")),
    ("core/v1.ReplicationControllerSpec", "replicas", Number(1)),
    (
        "core/v1.ScaleIOPersistentVolumeSource",
        "fsType",
        Text("xfs"),
    ),
    (
        "core/v1.ScaleIOPersistentVolumeSource",
        "storageMode",
        Text("ThinProvisioned"),
    ),
    ("core/v1.ScaleIOVolumeSource", "fsType", Text("xfs")),
    (
        "core/v1.ScaleIOVolumeSource",
        "storageMode",
        Text("ThinProvisioned"),
    ),
    ("core/v1.Secret", "type", Text("Opaque")),
    ("core/v1.SecretVolumeSource", "defaultMode", FILE_MODE),
    (
        "core/v1.ServiceAccountTokenProjection",
        "expirationSeconds",
        Number(3600),
    ),
    ("core/v1.ServicePort", "protocol", Text("TCP")),
    ("discovery/v1.EndpointPort", "name", Text("")),
    ("discovery/v1.EndpointPort", "protocol", Text("TCP")),
    (
        "networking/v1.IngressClassParametersReference",
        "scope",
        Text("Cluster"),
    ),
    ("networking/v1.NetworkPolicyPort", "protocol", Text("TCP")),
    (
        "scheduling/v1.PriorityClass",
        "preemptionPolicy",
        Text("PreemptLowerPriority"),
    ),
    ("storage/v1.CSIDriverSpec", "attachRequired", Bool(true)),
    (
        "storage/v1.CSIDriverSpec",
        "fsGroupPolicy",
        Text("ReadWriteOnceWithFSType"),
    ),
    ("storage/v1.CSIDriverSpec", "podInfoOnMount", Bool(false)),
    ("storage/v1.CSIDriverSpec", "requiresRepublish", Bool(false)),
    ("storage/v1.CSIDriverSpec", "seLinuxMount", Bool(false)),
    ("storage/v1.CSIDriverSpec", "storageCapacity", Bool(false)),
    ("storage/v1.StorageClass", "reclaimPolicy", Text("Delete")),
    (
        "storage/v1.StorageClass",
        "volumeBindingMode",
        Text("Immediate"),
    ),
];
