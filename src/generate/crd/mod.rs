//! Generates a custom resource definition (CRD) from the inputs of roles.
//!
//! A CRD contains more than inputs can say: names, scope, printer columns, the fields of the status, and versions
//! that the operator no longer serves. The generator keeps these parts of an existing CRD.

mod compatibility;
mod names;
mod schema;
mod status;

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::{Map, Value, json};

pub(crate) use compatibility::{BreakingChange, breaking_changes};
pub(crate) use names::plural;

use crate::model::yaml;
use crate::role::{Input, Kind};

/// The maximum number of printer columns that show inputs.
const INPUT_COLUMNS: usize = 3;

/// A kind and its versions, as `watches.yaml` and the roles describe them.
#[derive(Debug)]
pub(crate) struct Definition<'a> {
    pub(crate) group: &'a str,
    pub(crate) kind: &'a str,
    /// The versions in the order of `watches.yaml`.
    pub(crate) versions: Vec<DefinedVersion<'a>>,
}

/// A version of a kind, with the inputs of the role that serves it.
#[derive(Debug)]
pub(crate) struct DefinedVersion<'a> {
    pub(crate) name: &'a str,
    /// The description of the role; it may be empty.
    pub(crate) description: &'a str,
    pub(crate) inputs: &'a BTreeMap<String, Input>,
}

impl Definition<'_> {
    /// Returns true if a CRD defines this kind.
    pub(crate) fn is_defined_by(&self, crd: &Value) -> bool {
        let spec = &crd["spec"];
        crd["kind"] == "CustomResourceDefinition"
            && spec["group"] == *self.group
            && spec["names"]["kind"] == *self.kind
    }

    /// Generates the CRD. Of `existing`, it keeps what inputs do not describe.
    pub(crate) fn generate(&self, existing: Option<&Value>) -> Value {
        let mut crd = existing.map_or_else(|| self.skeleton(true), Clone::clone);
        // The server owns the status of a CRD.
        if let Some(fields) = crd.as_object_mut() {
            fields.remove("status");
        }
        for version in &self.versions {
            version.add_to(&mut crd);
        }
        crd
    }

    /// Returns a CRD without versions.
    pub(crate) fn skeleton(&self, namespaced: bool) -> Value {
        let plural = plural(self.kind);
        let scope = if namespaced { "Namespaced" } else { "Cluster" };
        json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": {"name": format!("{plural}.{}", self.group)},
            "spec": {
                "group": self.group,
                "scope": scope,
                "names": {
                    "kind": self.kind,
                    "listKind": format!("{}List", self.kind),
                    "plural": plural,
                    "singular": self.kind.to_lowercase(),
                },
                "versions": [],
            },
        })
    }
}

/// Returns the name of the file of a CRD: `web.example.com_sites.yaml`.
pub(crate) fn file_name(crd: &Value) -> String {
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    let spec = &crd["spec"];
    format!(
        "{}_{}.yaml",
        text(&spec["group"]),
        text(&spec["names"]["plural"])
    )
}

/// Returns the text of the file of a CRD.
pub(crate) fn text_of(crd: &Value) -> String {
    let comment = "# rhai-operator generate crd writes this file from the inputs of the role. It keeps your changes of names, \
                   scope, printer\n# columns and status.\n";
    format!("{comment}{}\n", yaml::write(crd).trim_end())
}

impl DefinedVersion<'_> {
    /// Adds the version to a CRD, or updates it there.
    fn add_to(&self, crd: &mut Value) {
        let Some(versions) = crd["spec"]["versions"].as_array_mut() else {
            return;
        };
        let found = versions
            .iter()
            .position(|version| version["name"] == *self.name);
        let index = found.unwrap_or_else(|| {
            let storage = versions.iter().all(|version| version["storage"] != true);
            versions.push(json!({"name": self.name, "served": true, "storage": storage}));
            versions.len() - 1
        });
        let version = &mut versions[index];
        if version["subresources"]["status"].is_null() {
            version["subresources"]["status"] = json!({});
        }
        if version["additionalPrinterColumns"].is_null() {
            version["additionalPrinterColumns"] = self.columns();
        }
        let root = &mut version["schema"]["openAPIV3Schema"];
        let status = status::with_conditions(&root["properties"]["status"]);
        *root = schema::root(self.description, self.inputs, &status);
    }

    /// Returns the columns of `kubectl get`: some inputs, the state and the age.
    fn columns(&self) -> Value {
        let is_simple = |name: &str| {
            name.starts_with(|c: char| c.is_ascii_alphabetic())
                && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        };
        let scalars = self.inputs.iter().filter(|(name, input)| {
            is_simple(name) && !matches!(input.kind, Kind::Object | Kind::Array)
        });
        let inputs = scalars.take(INPUT_COLUMNS).map(|(name, input)| {
            json!({
                "name": capitalized(name),
                "type": input.kind.name(),
                "jsonPath": format!(".spec.{name}"),
            })
        });
        let condition = |name: &str, field: &str| {
            let path = format!(".status.conditions[?(@.type==\"Ready\")].{field}");
            Map::from_iter([
                ("name".to_owned(), name.into()),
                ("type".to_owned(), "string".into()),
                ("jsonPath".to_owned(), path.into()),
            ])
        };
        let mut message = condition("Status", "message");
        message.insert("priority".to_owned(), 1.into());
        let mut columns: Vec<Value> = inputs.collect();
        columns.extend([
            condition("Ready", "status").into(),
            message.into(),
            json!({"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"}),
        ]);
        columns.into()
    }
}

fn capitalized(name: &str) -> String {
    let mut chars = name.chars();
    let first = chars.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(chars).collect()
}
