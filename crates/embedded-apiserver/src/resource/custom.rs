//! Resources that custom resource definitions define.

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::entry::Resource;
use super::strategy::Strategy;
use super::version::{CompiledVersion, GroupVersion, Subresource, Version};
use crate::crd;
use crate::schema::Schema;

/// The verbs of custom resources, in the order of discovery.
const VERBS: [&str; 8] = [
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
];

/// The verbs of subresources of custom resources.
const SUBRESOURCE_VERBS: [&str; 3] = ["get", "patch", "update"];

impl Resource {
    /// Returns the resource of an established definition. Objects with a revision up to `changed_at` may have
    /// been stored under an earlier form of the definition.
    pub fn custom(definition: &Value, changed_at: u64) -> Option<Self> {
        let spec = &definition["spec"];
        let names = &definition["status"]["acceptedNames"];
        let text = |value: &Value| value.as_str().map(Box::<str>::from);
        let list = |value: &Value| -> Vec<String> {
            let items = value.as_array().into_iter().flatten();
            items.filter_map(Value::as_str).map(str::to_owned).collect()
        };
        let versions = versions(definition);
        let status = versions
            .iter()
            .find(|version| version.storage)?
            .subresource("status")
            .is_some();
        Some(Self {
            id: definition["metadata"]["name"].as_str()?.into(),
            group: text(&spec["group"])?,
            plural: text(&spec["names"]["plural"])?,
            singular: text(&names["singular"])?,
            kind: text(&names["kind"])?,
            list_kind: text(&names["listKind"])?,
            namespaced: spec["scope"] == "Namespaced",
            short_names: list(&names["shortNames"]),
            categories: list(&names["categories"]),
            strategy: Strategy::custom(status),
            versions,
            storage: None,
            custom: true,
            changed_at,
        })
    }
}

/// Returns the versions of a definition: the preferred one first, those that are not served last.
fn versions(definition: &Value) -> Vec<Version> {
    let served = crd::versions(definition);
    let all = definition["spec"]["versions"].as_array();
    let names = all.into_iter().flatten().filter_map(|v| v["name"].as_str());
    let unserved = names.filter(|name| !served.contains(name));
    let storage = crd::storage_version(definition);
    let described = |name: &str, is_served: bool| {
        let is_storage = storage == Some(name);
        version(definition, name, is_served, is_storage)
    };
    let first = served.iter().filter_map(|name| described(name, true));
    first
        .chain(unserved.filter_map(|name| described(name, false)))
        .collect()
}

fn version(definition: &Value, name: &str, served: bool, storage: bool) -> Option<Version> {
    let compiled = crd::Version::compile(definition, name)?;
    let kind: Box<str> = definition["spec"]["names"]["kind"].as_str()?.into();
    let group = definition["spec"]["group"].as_str()?;
    let verbs = || SUBRESOURCE_VERBS.map(str::to_owned).to_vec();
    let mut subresources = Vec::new();
    if compiled.has_status() {
        subresources.push(Subresource {
            name: "status".into(),
            kind: kind.clone(),
            response: None,
            verbs: verbs(),
        });
    }
    if compiled.scale().is_some() {
        subresources.push(Subresource {
            name: "scale".into(),
            kind: "Scale".into(),
            response: Some(GroupVersion {
                group: "autoscaling".into(),
                version: "v1".into(),
            }),
            verbs: verbs(),
        });
    }
    let schema = Schema::custom(compiled.open_api_schema().unwrap_or(&Value::Null));
    Some(Version {
        name: name.into(),
        served,
        storage,
        verbs: VERBS.map(str::to_owned).to_vec(),
        subresources,
        storage_hash: crd::storage_version(definition)
            .map(|storage| storage_hash(group, storage, &kind)),
        response: None,
        deprecation: compiled.deprecation().map(str::to_owned),
        custom: Some(Arc::new(CompiledVersion {
            version: compiled,
            schema,
        })),
    })
}

/// Returns the first eight bytes of a digest of the kind in its storage version, in base64.
fn storage_hash(group: &str, version: &str, kind: &str) -> String {
    let digest = Sha256::digest(format!("{group}/{version}/{kind}"));
    STANDARD.encode(&digest[..8])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_storage_hash_is_the_real_servers() {
        assert_eq!(storage_hash("core.io", "v1", "Gizmo"), "0aiSPuPFezA=");
    }
}
