//! Discovery with a separate document per path: `/api`, `/apis`, `/apis/apps`, `/apis/apps/v1`.

use serde_json::{Value, json};

use super::group_versions::{Group, named_groups};
use crate::resource::{Catalogue, GroupVersion, Resource, Version, api_version};

/// Returns the document `/api`.
pub(crate) fn core_versions() -> Value {
    json!({
        "kind": "APIVersions",
        "versions": ["v1"],
        "serverAddressByClientCIDRs": [
            {"clientCIDR": "0.0.0.0/0", "serverAddress": "127.0.0.1:6443"},
        ],
    })
}

/// Returns the document `/apis`.
pub(crate) fn groups(catalogue: &Catalogue) -> Value {
    let groups: Vec<Value> = named_groups(catalogue).iter().map(described).collect();
    json!({"kind": "APIGroupList", "apiVersion": "v1", "groups": groups})
}

/// Returns the document of a group, such as `/apis/apps`.
pub(crate) fn group(catalogue: &Catalogue, name: &str) -> Option<Value> {
    let groups = named_groups(catalogue);
    let mut group = described(groups.iter().find(|group| group.name == name)?);
    group["kind"] = "APIGroup".into();
    group["apiVersion"] = "v1".into();
    Some(group)
}

fn described(group: &Group) -> Value {
    let version =
        |name: &String| json!({"groupVersion": api_version(&group.name, name), "version": name});
    json!({
        "name": group.name,
        "versions": group.versions.iter().map(version).collect::<Vec<_>>(),
        "preferredVersion": group.versions.first().map(version),
    })
}

/// Returns the document of a group version, such as `/apis/apps/v1` or `/api/v1`.
pub(crate) fn resources(catalogue: &Catalogue, group: &str, version: &str) -> Option<Value> {
    let mut list = Vec::new();
    for resource in catalogue.all().filter(|one| *one.group == *group) {
        if let Some(version) = resource.served(version) {
            list.extend(entries(resource, version));
        }
    }
    if list.is_empty() {
        return None;
    }
    Some(json!({
        "kind": "APIResourceList",
        "apiVersion": "v1",
        "groupVersion": api_version(group, version),
        "resources": list,
    }))
}

fn entries(resource: &Resource, version: &Version) -> Vec<Value> {
    let mut entry = json!({
        "name": &*resource.plural,
        "singularName": &*resource.singular,
        "namespaced": resource.namespaced,
        "kind": &*resource.kind,
        "verbs": version.verbs,
    });
    set_response(&mut entry, version.response.as_ref());
    if !resource.short_names.is_empty() {
        entry["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        entry["categories"] = resource.categories.clone().into();
    }
    if let Some(hash) = &version.storage_hash {
        entry["storageVersionHash"] = hash.as_str().into();
    }
    let mut entries = vec![entry];
    for subresource in &version.subresources {
        let mut entry = json!({
            "name": format!("{}/{}", resource.plural, subresource.name),
            "singularName": "",
            "namespaced": resource.namespaced,
            "kind": &*subresource.kind,
            "verbs": subresource.verbs,
        });
        set_response(&mut entry, subresource.response.as_ref());
        entries.push(entry);
    }
    entries
}

fn set_response(entry: &mut Value, response: Option<&GroupVersion>) {
    if let Some(GroupVersion { group, version }) = response {
        entry["group"] = (&**group).into();
        entry["version"] = (&**version).into();
    }
}
