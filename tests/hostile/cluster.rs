//! The cluster around the tenant: namespaces, kinds, objects of others, and what there is of all that.

use std::collections::BTreeMap;
use std::time::Duration;

use anyhow::ensure;
use serde_json::{Value, json};

use super::api::{Api, Object};
use super::cases::Kind;
use super::values::EXISTING;

/// The namespaces of a campaign.
#[derive(Clone, Debug)]
pub(crate) struct Namespaces {
    /// The namespace in which the tenant may create custom resources.
    pub(crate) tenant: String,
    /// The namespace of a custom resource that is not attacked.
    pub(crate) bystander: String,
    /// The namespaces whose objects must not change.
    pub(crate) others: Vec<String>,
}

/// The names of objects without an owner in the tenant's namespace and in another. Hostile values contain
/// these names.
const DECOYS: [&str; 2] = [EXISTING, "default"];

/// Controllers that change nothing for this time have no more work.
const QUIET: Duration = Duration::from_secs(3);

/// The Secret's values that must appear nowhere.
pub(crate) const TOKEN: &str = "Zt7kq0PvWm3xYb9LrN4cHs8D";
pub(crate) const KEY: &str = "-----BEGIN PRIVATE KEY-----\n\
    MC4CAQAwBQYDK2VwBCIEIJ8sT0vOq1dXkq3mUeA4hV0bW6yFzCjR2pNnKs5LgTqX\n\
    oD9wB3uYtE7rMvQiZaHc1xGfJ8kPdSlN6bOeUy2CsRw4VhTzKm0XqAjLiF5gDpEo\n\
    -----END PRIVATE KEY-----\n";

/// The resources that are compared, each with its path behind the namespace.
const NAMESPACED: [(&str, &str); 16] = [
    ("api/v1", "configmaps"),
    ("api/v1", "secrets"),
    ("api/v1", "services"),
    ("api/v1", "serviceaccounts"),
    ("api/v1", "pods"),
    ("api/v1", "persistentvolumeclaims"),
    ("apis/apps/v1", "deployments"),
    ("apis/apps/v1", "replicasets"),
    ("apis/apps/v1", "daemonsets"),
    ("apis/apps/v1", "statefulsets"),
    ("apis/batch/v1", "jobs"),
    ("apis/rbac.authorization.k8s.io/v1", "roles"),
    ("apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    ("apis/networking.k8s.io/v1", "ingresses"),
    ("apis/networking.k8s.io/v1", "networkpolicies"),
    ("apis/kmm.sigs.x-k8s.io/v1beta1", "modules"),
];

const CLUSTER_WIDE: [(&str, &str); 5] = [
    ("api/v1", "namespaces"),
    ("api/v1", "persistentvolumes"),
    ("apis/rbac.authorization.k8s.io/v1", "clusterroles"),
    ("apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
];

/// All objects by `resource namespace/name`.
pub(crate) type Snapshot = BTreeMap<String, Object>;

/// Creates the kinds, the namespaces and their objects.
pub(crate) async fn prepare(
    api: &Api,
    namespaces: &Namespaces,
    kinds: &[&Kind],
) -> anyhow::Result<()> {
    let all = [&namespaces.tenant, &namespaces.bystander];
    for name in all.into_iter().chain(&namespaces.others) {
        let namespace =
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        api.ensure("/api/v1/namespaces", &namespace).await?;
    }
    for kind in kinds {
        define(api, &kind.definition).await?;
    }
    make_decoys(api, namespaces).await
}

/// Waits until controllers have made their last change of the objects of the tenant and of others.
pub(crate) async fn settle(api: &Api, namespaces: &Namespaces) -> anyhow::Result<()> {
    let mut names = namespaces.others.clone();
    names.push(namespaces.tenant.clone());
    let versions = async || {
        let objects = snapshot(api, &names, false).await?.into_iter();
        let versions = objects.map(|(name, object)| (name, object.seen.metadata.resource_version));
        anyhow::Ok(versions.collect::<BTreeMap<_, _>>())
    };
    super::wait::until("objects that do not change", async || {
        let before = versions().await?;
        test_harness::throughout(QUIET, "the same objects", || async {
            ensure!(versions().await? == before, "they change");
            anyhow::Ok(())
        })
        .await
    })
    .await
}

/// Creates the objects without an owner that do not exist.
pub(crate) async fn make_decoys(api: &Api, namespaces: &Namespaces) -> anyhow::Result<()> {
    for namespace in [&namespaces.tenant].into_iter().chain(&namespaces.others) {
        for name in DECOYS {
            for (path, object) in decoys(name) {
                api.ensure(&in_namespace(path.0, path.1, namespace), &object)
                    .await?;
            }
        }
        let secret = json!({
            "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "credentials"},
            "stringData": {"token": TOKEN, "key.pem": KEY},
        });
        api.ensure(&in_namespace("api/v1", "secrets", namespace), &secret)
            .await?;
    }
    Ok(())
}

/// Makes a kind, and waits until it is served.
pub(crate) async fn define(api: &Api, definition: &Value) -> anyhow::Result<()> {
    let definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    api.ensure(definitions, definition).await?;
    let spec = &definition["spec"];
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let (group, version) = (text(&spec["group"]), text(&spec["versions"][0]["name"]));
    let name = text(&definition["metadata"]["name"]);
    super::wait::until(&name, async || {
        let seen = api.get(&format!("{definitions}/{name}")).await?;
        let established = seen.and_then(|seen| seen.condition("Established"));
        ensure!(established.is_some(), "not established");
        let path = format!("/apis/{group}/{version}/{}", text(&spec["names"]["plural"]));
        api.list(&path).await.map(drop)
    })
    .await
}

fn decoys(name: &str) -> Vec<((&'static str, &'static str), Value)> {
    let metadata = json!({"name": name, "labels": {"app": "other"}});
    let selector = json!({"matchLabels": {"app": "other"}});
    let template = json!({
        "metadata": {"labels": {"app": "other"}},
        "spec": {"containers": [{"name": "main", "image": "other"}]},
    });
    let mut objects = vec![
        (
            NAMESPACED[0],
            json!({"kind": "ConfigMap", "data": {"whose": "not the tenant's"}}),
        ),
        (
            NAMESPACED[2],
            json!({"kind": "Service", "spec": {"ports": [{"port": 1}]}}),
        ),
        (NAMESPACED[3], json!({"kind": "ServiceAccount"})),
        (
            NAMESPACED[6],
            json!({"kind": "Deployment", "spec": {"replicas": 0, "selector": selector, "template": template}}),
        ),
    ];
    for ((group_version, _), object) in &mut objects {
        let (_, version) = group_version.split_once('/').unwrap_or_default();
        object["apiVersion"] = version.into();
        object["metadata"] = metadata.clone();
    }
    objects
}

/// The path of a resource in a namespace.
pub(crate) fn in_namespace(group_version: &str, plural: &str, namespace: &str) -> String {
    format!("/{group_version}/namespaces/{namespace}/{plural}")
}

/// Lists all objects of these namespaces, and the cluster-scoped ones if `with_cluster` is true.
pub(crate) async fn snapshot(
    api: &Api,
    namespaces: &[String],
    with_cluster: bool,
) -> anyhow::Result<Snapshot> {
    let mut paths = Vec::new();
    for namespace in namespaces {
        paths.extend(NAMESPACED.iter().map(|(group_version, plural)| {
            (*plural, in_namespace(group_version, plural, namespace))
        }));
    }
    if with_cluster {
        let wide = CLUSTER_WIDE.iter();
        paths.extend(
            wide.map(|(group_version, plural)| (*plural, format!("/{group_version}/{plural}"))),
        );
    }
    let mut all = Snapshot::new();
    for (plural, path) in paths {
        for object in api.list(&path).await? {
            let metadata = &object.seen.metadata;
            let namespace = metadata.namespace.as_deref().unwrap_or_default();
            all.insert(format!("{plural} {namespace}/{}", metadata.name), object);
        }
    }
    Ok(all)
}

/// Each namespace that there is.
pub(crate) async fn all_namespaces(api: &Api) -> anyhow::Result<Vec<String>> {
    let all = api.list("/api/v1/namespaces").await?;
    Ok(all
        .into_iter()
        .map(|object| object.seen.metadata.name)
        .collect())
}
