//! The built-in resources, from the discovery document of a real server.

use std::sync::Arc;

use serde::Deserialize;

use super::entry::Resource;
use super::names::id_of;
use super::strategy::Strategy;
use super::version::{GroupVersion, Subresource, Version};

const TABLE: &str = include_str!("builtin.json");

/// A built-in group in the table.
#[derive(Deserialize)]
pub(super) struct Group {
    pub(super) name: String,
    /// The position in discovery. Groups with a higher priority come first.
    pub(super) priority: i64,
    versions: Vec<GroupedVersion>,
}

#[derive(Deserialize)]
struct GroupedVersion {
    name: String,
    priority: i64,
    resources: Vec<Entry>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    name: String,
    singular: String,
    namespaced: bool,
    kind: String,
    verbs: Vec<String>,
    #[serde(default)]
    short_names: Vec<String>,
    #[serde(default)]
    categories: Vec<String>,
    storage_version_hash: Option<String>,
    group: Option<String>,
    version: Option<String>,
    #[serde(default)]
    subresources: Vec<SubEntry>,
}

#[derive(Deserialize)]
struct SubEntry {
    name: String,
    kind: String,
    group: Option<String>,
    version: Option<String>,
    verbs: Vec<String>,
}

/// Parses the table. It is part of the binary, so parsing fails only after a mistake in the build. Then the
/// server serves no built-in resource.
pub(super) fn groups() -> Vec<Group> {
    serde_json::from_str(TABLE).unwrap_or_default()
}

/// A built-in resource.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BuiltinResource {
    /// The API group, empty for the core.
    pub group: String,
    /// The kind, such as `Deployment`.
    pub kind: String,
    /// The name in URLs.
    pub plural: String,
    /// True if its objects are in namespaces.
    pub is_namespaced: bool,
}

/// Returns the built-in resources that the server serves.
pub fn builtin_resources() -> Vec<BuiltinResource> {
    let groups = groups();
    let resources = groups.iter().flat_map(Group::resources);
    let resources = resources.map(|resource| BuiltinResource {
        group: resource.group.into(),
        kind: resource.kind.into(),
        plural: resource.plural.into(),
        is_namespaced: resource.namespaced,
    });
    resources.collect()
}

impl Group {
    /// Returns the group's versions with their priorities.
    pub(super) fn versions(&self) -> impl Iterator<Item = (&str, i64)> {
        self.versions.iter().map(|v| (&*v.name, v.priority))
    }

    /// Returns the group's resources. All versions of one plural form one resource.
    pub(super) fn resources(&self) -> Vec<Resource> {
        let mut found: Vec<Resource> = Vec::new();
        for version in &self.versions {
            for entry in &version.resources {
                let served = entry.version(&version.name);
                match found.iter_mut().find(|one| *one.plural == *entry.name) {
                    Some(resource) => resource.versions.push(Version {
                        storage: false,
                        ..served
                    }),
                    None => found.push(entry.resource(&self.name, served)),
                }
            }
        }
        found
    }
}

impl Entry {
    fn resource(&self, group: &str, version: Version) -> Resource {
        let id: Arc<str> = id_of(group, &self.name).into();
        Resource {
            strategy: Strategy::builtin(&id, &version),
            storage: (&*id == "events.events.k8s.io").then(|| "events".into()),
            id,
            group: group.into(),
            plural: self.name.as_str().into(),
            singular: self.singular.as_str().into(),
            kind: self.kind.as_str().into(),
            list_kind: format!("{}List", self.kind).into(),
            namespaced: self.namespaced,
            short_names: self.short_names.clone(),
            categories: self.categories.clone(),
            versions: vec![version],
            custom: false,
            changed_at: 0,
        }
    }

    fn version(&self, name: &str) -> Version {
        Version {
            name: name.into(),
            served: true,
            storage: true,
            verbs: self.verbs.clone(),
            subresources: self.subresources.iter().map(SubEntry::parsed).collect(),
            storage_hash: self.storage_version_hash.clone(),
            response: response(self.group.as_deref(), self.version.as_deref()),
            deprecation: deprecation(&self.name, name),
            custom: None,
        }
    }
}

impl SubEntry {
    fn parsed(&self) -> Subresource {
        Subresource {
            name: self.name.as_str().into(),
            kind: self.kind.as_str().into(),
            response: response(self.group.as_deref(), self.version.as_deref()),
            verbs: self.verbs.clone(),
        }
    }
}

fn response(group: Option<&str>, version: Option<&str>) -> Option<GroupVersion> {
    Some(GroupVersion {
        group: group.unwrap_or_default().into(),
        version: version?.into(),
    })
}

/// Returns the deprecation warning of Kubernetes 1.36:
/// <https://kubernetes.io/docs/reference/using-api/deprecation-guide/>
fn deprecation(plural: &str, version: &str) -> Option<String> {
    let text = match (plural, version) {
        ("endpoints", "v1") => {
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice"
        }
        ("componentstatuses", "v1") => "v1 ComponentStatus is deprecated in v1.19+",
        _ => return None,
    };
    Some(text.to_owned())
}
