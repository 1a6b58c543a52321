//! Generates the `ClusterServiceVersion`: the description of the operator that OLM installs.

use minijinja::value::Serde;
use serde_json::{Value, json};

use super::Bundle;
use super::descriptors::{spec_descriptors, status_descriptors};
use crate::generate::manifests::{LEADER_ELECTION, MANAGER, Values};
use crate::generate::project_file::render;
use crate::generate::rbac::policy_rules;
use crate::model::yaml;

/// The scopes in which OLM can install the operator.
const INSTALL_MODES: [&str; 4] = [
    "OwnNamespace",
    "SingleNamespace",
    "MultiNamespace",
    "AllNamespaces",
];

impl Bundle<'_> {
    pub(super) fn cluster_service_version(&self) -> Result<Value, minijinja::Error> {
        let settings = self.settings;
        let examples = serde_json::Value::from(self.samples);
        let (cluster, mut namespaced) = policy_rules(self.requirements);
        let values = minijinja::Value::from(Serde(Values::of_settings(settings)));
        let election = first_document(&render(LEADER_ELECTION, &values)?);
        namespaced.extend(election["rules"].as_array().cloned().unwrap_or_default());
        let account =
            |rules: Vec<Value>| json!([{"serviceAccountName": settings.name, "rules": rules}]);
        let deployment = self.deployment(&render(MANAGER, &values)?);
        let modes = INSTALL_MODES.map(|mode| json!({"type": mode, "supported": true}));
        Ok(json!({
            "apiVersion": "operators.coreos.com/v1alpha1",
            "kind": "ClusterServiceVersion",
            "metadata": {
                "name": format!("{}.v{}", settings.name, settings.version),
                "annotations": {
                    "alm-examples": format!("{examples:#}"),
                    "capabilities": "Basic Install",
                    "containerImage": settings.image,
                    "operators.operatorframework.io/builder": concat!("rhai-operator-", env!("CARGO_PKG_VERSION")),
                },
            },
            "spec": {
                "displayName": settings.name,
                "description": settings.description,
                "version": settings.version,
                "maturity": "alpha",
                "minKubeVersion": "1.25.0",
                "provider": {"name": settings.provider},
                "maintainers": [{"name": settings.provider, "email": settings.email}],
                "keywords": [settings.name],
                "installModes": modes,
                "customresourcedefinitions": {"owned": self.owned()},
                "install": {
                    "strategy": "deployment",
                    "spec": {
                        "deployments": [deployment],
                        "permissions": account(namespaced),
                        "clusterPermissions": account(cluster),
                    },
                },
            },
        }))
    }

    /// Returns the Deployment. OLM names the watched namespaces in an annotation of the Pods.
    fn deployment(&self, manager: &str) -> Value {
        let mut manager = first_document(manager);
        if let Some(container) = manager.pointer_mut("/spec/template/spec/containers/0") {
            if let Some(arguments) = container["args"].as_array_mut() {
                arguments.retain(|argument| {
                    let argument = argument.as_str().unwrap_or_default();
                    !argument.starts_with("--watch-namespace=")
                });
            }
            let field = "metadata.annotations['olm.targetNamespaces']";
            container["env"] = json!([{
                "name": "WATCH_NAMESPACE",
                "valueFrom": {"fieldRef": {"fieldPath": field}},
            }]);
        }
        json!({"name": self.settings.name, "spec": manager["spec"]})
    }

    /// Returns the kinds that the operator serves: each version of each CRD.
    fn owned(&self) -> Vec<Value> {
        let mut owned = Vec::new();
        for crd in self.crds.iter().flat_map(|file| &file.definitions) {
            let spec = &crd["spec"];
            for version in spec["versions"].as_array().into_iter().flatten() {
                let schema = &version["schema"]["openAPIV3Schema"];
                let kind = &spec["names"]["kind"];
                owned.push(json!({
                    "name": crd["metadata"]["name"],
                    "version": version["name"],
                    "kind": kind,
                    "displayName": kind,
                    "description": schema["description"],
                    "specDescriptors": spec_descriptors(schema),
                    "statusDescriptors": status_descriptors(schema),
                }));
            }
        }
        owned
    }
}

fn first_document(text: &str) -> Value {
    let documents = yaml::parse_all(text).unwrap_or_default();
    documents.into_iter().next().unwrap_or_default()
}
