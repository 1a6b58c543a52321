//! A custom kind in a test's API group.

use anyhow::Context;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::wait::{SOON, eventually};

/// A custom resource definition: namespaced, with a status, by default without a schema.
#[derive(Clone, Debug)]
pub struct Crd {
    kind: String,
    status: Value,
    spec: Value,
    scope: &'static str,
}

impl Crd {
    /// A kind with this CamelCase name.
    pub fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            status: open(),
            spec: open(),
            scope: "Namespaced",
        }
    }

    /// Makes the kind cluster-scoped.
    pub fn cluster_scoped(mut self) -> Self {
        self.scope = "Cluster";
        self
    }

    /// Sets the schema of the spec.
    pub fn spec(mut self, schema: Value) -> Self {
        self.spec = schema;
        self
    }

    /// Sets the schema of the status.
    pub fn status(mut self, schema: Value) -> Self {
        self.status = schema;
        self
    }

    /// Returns the names of the kind in the API.
    pub fn resource(&self, group: &str) -> ApiResource {
        ApiResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            api_version: format!("{group}/v1"),
            kind: self.kind.clone(),
            plural: self.plural(),
        }
    }

    /// Creates the kind and waits until the API serves it.
    pub(crate) async fn create(&self, client: Client, group: &str) -> anyhow::Result<()> {
        let api = Api::<CustomResourceDefinition>::all(client.clone());
        let definition = serde_json::from_value(self.manifest(group))?;
        api.create(&PostParams::default(), &definition).await?;
        let name = format!("{}.{group}", self.plural());
        let kind = GroupVersionKind::gvk(group, "v1", &self.kind);
        eventually(SOON, &name, || async {
            let conditions = api
                .get(&name)
                .await?
                .status
                .and_then(|status| status.conditions)
                .context("no conditions")?;
            let established = conditions
                .iter()
                .any(|condition| condition.type_ == "Established" && condition.status == "True");
            anyhow::ensure!(established, "{conditions:?}");
            // The API server updates discovery later.
            kube::discovery::pinned_kind(&client, &kind).await?;
            Ok(())
        })
        .await
    }

    fn plural(&self) -> String {
        format!("{}s", self.kind.to_lowercase())
    }

    fn manifest(&self, group: &str) -> Value {
        let plural = self.plural();
        let properties = json!({"spec": self.spec, "status": self.status});
        json!({
            "metadata": {"name": format!("{plural}.{group}")},
            "spec": {
                "group": group,
                "scope": self.scope,
                "names": {
                    "kind": self.kind, "plural": plural, "singular": self.kind.to_lowercase(),
                },
                "versions": [{
                    "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": properties}},
                }],
            },
        })
    }
}

fn open() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}
