//! A custom kind for a test: named in the test's own API group, established before it is used.

use anyhow::Context;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::{Value, json};

use super::wait::{SOON, eventually};

/// What a kind is to look like. By default: namespaced, with status, its content open-ended.
#[derive(Clone, Debug)]
pub(crate) struct Crd {
    kind: String,
    status: Value,
    spec: Value,
}

impl Crd {
    /// A kind by its name, in CamelCase.
    pub(crate) fn new(kind: &str) -> Self {
        Self {
            kind: kind.to_owned(),
            status: open(),
            spec: open(),
        }
    }

    /// With a schema of the spec.
    pub(crate) fn spec(mut self, schema: Value) -> Self {
        self.spec = schema;
        self
    }

    /// With a schema of the status.
    pub(crate) fn status(mut self, schema: Value) -> Self {
        self.status = schema;
        self
    }

    /// How the API calls it.
    pub(crate) fn resource(&self, group: &str) -> ApiResource {
        ApiResource {
            group: group.to_owned(),
            version: "v1".to_owned(),
            api_version: format!("{group}/v1"),
            kind: self.kind.clone(),
            plural: self.plural(),
        }
    }

    /// Makes the kind and waits until the API serves it.
    pub(super) async fn make(&self, client: Client, group: &str) -> anyhow::Result<()> {
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
            // Discovery follows by a queue of its own.
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
                "scope": "Namespaced",
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
