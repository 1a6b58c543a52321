//! Creates the objects that exist in every new cluster.

mod roles;

use serde_json::{Value, json};

use super::builtin;
use super::registry::Transaction;

/// The initial namespaces:
/// <https://kubernetes.io/docs/concepts/overview/working-with-objects/namespaces/#initial-namespaces>
const NAMESPACES: [&str; 4] = ["kube-system", "kube-public", "kube-node-lease", "default"];

/// The built-in priority classes:
/// <https://kubernetes.io/docs/tasks/administer-cluster/guaranteed-scheduling-critical-addon-pods/>
const PRIORITIES: [(&str, i64, &str); 2] = [
    (
        "system-cluster-critical",
        2_000_000_000,
        "Used for system critical pods that must run in the cluster, but can be moved to another \
         node if necessary.",
    ),
    (
        "system-node-critical",
        2_000_001_000,
        "Used for system critical pods that must not be moved from their node.",
    ),
];

/// Creates the objects that do not exist yet.
pub(super) fn create(tx: &mut Transaction<'_>) {
    roles::create(tx);
    for name in NAMESPACES {
        let namespace = json!({
            "apiVersion": "v1",
            "kind": "Namespace",
            "metadata": {"name": name},
        });
        create_one(tx, "namespaces", "", namespace);
    }
    for (name, value, description) in PRIORITIES {
        let class = json!({
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": name},
            "value": value,
            "description": description,
        });
        create_one(tx, "priorityclasses.scheduling.k8s.io", "", class);
    }
    create_one(tx, "services", "default", server());
    for version in api_services(tx) {
        create_one(tx, "apiservices.apiregistration.k8s.io", "", version);
    }
}

/// Returns the Service through which Pods reach the API.
fn server() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {
            "name": "kubernetes",
            "namespace": "default",
            "labels": {"component": "apiserver", "provider": "kubernetes"},
        },
        "spec": {
            "type": "ClusterIP",
            "clusterIP": builtin::service::SERVER_ADDRESS,
            "ports": [{"name": "https", "port": 443, "protocol": "TCP", "targetPort": 6443}],
        },
    })
}

/// Returns the `APIServices`: this server serves each built-in version of a group.
fn api_services(tx: &Transaction<'_>) -> Vec<Value> {
    let groups = tx.catalogue.builtin_groups().iter();
    let versions = groups.flat_map(|group| group.versions.iter().map(move |one| (group, one)));
    versions
        .map(|(group, (version, priority))| {
            json!({
                "apiVersion": "apiregistration.k8s.io/v1",
                "kind": "APIService",
                "metadata": {
                    "name": format!("{version}.{}", group.name),
                    "labels": {"kube-aggregator.kubernetes.io/automanaged": "onstart"},
                },
                "spec": {
                    "group": group.name,
                    "groupPriorityMinimum": group.priority,
                    "version": version,
                    "versionPriority": priority,
                },
            })
        })
        .collect()
}

fn create_one(tx: &mut Transaction<'_>, resource: &str, namespace: &str, object: Value) {
    let name = object["metadata"]["name"].as_str().unwrap_or_default();
    if tx.get(resource, namespace, name).is_some() {
        return;
    }
    let name = name.to_owned();
    if let Err(error) = tx.create(resource, namespace, object) {
        tracing::error!(%error, resource, name, "an object of the system is refused");
    }
}
