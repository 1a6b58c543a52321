//! Aggregated discovery (KEP-3352): all groups, versions and resources in one document.

use serde_json::{Value, json};

use super::group_versions::named_groups;
use crate::resource::{Catalogue, GroupVersion, Resource, Version};

/// The media type of aggregated discovery. Clients accept the response as aggregated only if it has this
/// media type.
pub(crate) const AGGREGATED: &str =
    "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Returns `/api` (the core group) or `/apis` (all other groups).
pub(crate) fn aggregated(catalogue: &Catalogue, core: bool) -> Value {
    let items: Vec<Value> = if core {
        vec![item(catalogue, "", &["v1".to_owned()])]
    } else {
        let groups = named_groups(catalogue);
        let groups = groups.iter();
        groups
            .map(|group| item(catalogue, &group.name, &group.versions))
            .collect()
    };
    json!({
        "kind": "APIGroupDiscoveryList",
        "apiVersion": "apidiscovery.k8s.io/v2",
        "metadata": {},
        "items": items,
    })
}

fn item(catalogue: &Catalogue, group: &str, versions: &[String]) -> Value {
    let metadata = if group.is_empty() {
        json!({})
    } else {
        json!({"name": group})
    };
    let versions: Vec<Value> = versions
        .iter()
        .map(|name| {
            let in_group = catalogue.all().filter(|one| *one.group == *group);
            let resources = in_group.filter_map(|one| Some(described(one, one.served(name)?)));
            json!({
                "version": name,
                "resources": resources.collect::<Vec<_>>(),
                "freshness": "Current",
            })
        })
        .collect();
    json!({"metadata": metadata, "versions": versions})
}

fn described(resource: &Resource, version: &Version) -> Value {
    let own = resource.is_custom().then(|| GroupVersion {
        group: resource.group.clone(),
        version: version.name.clone(),
    });
    let mut entry = json!({
        "resource": &*resource.plural,
        "responseKind": kind(&resource.kind, version.response.as_ref().or(own.as_ref())),
        "scope": if resource.namespaced { "Namespaced" } else { "Cluster" },
        "singularResource": &*resource.singular,
        "verbs": version.verbs,
    });
    if !resource.short_names.is_empty() {
        entry["shortNames"] = resource.short_names.clone().into();
    }
    if !resource.categories.is_empty() {
        entry["categories"] = resource.categories.clone().into();
    }
    let subresources = version.subresources.iter().map(|one| {
        json!({
            "subresource": &*one.name,
            "responseKind": kind(&one.kind, one.response.as_ref().or(own.as_ref())),
            "verbs": one.verbs,
        })
    });
    let subresources: Vec<Value> = subresources.collect();
    if !subresources.is_empty() {
        entry["subresources"] = subresources.into();
    }
    entry
}

/// Returns the response kind. The group and version are empty for built-in kinds of the resource's own group
/// and version.
fn kind(kind: &str, response: Option<&GroupVersion>) -> Value {
    let (group, version) = match response {
        Some(response) => (&*response.group, &*response.version),
        None => ("", ""),
    };
    json!({"group": group, "version": version, "kind": kind})
}
