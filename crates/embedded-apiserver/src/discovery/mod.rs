//! The discovery documents below `/api` and `/apis`.
//!
//! <https://kubernetes.io/docs/concepts/overview/kubernetes-api/#discovery-api>

mod aggregated;
mod legacy;

pub(crate) use aggregated::{AGGREGATED, aggregated};
pub(crate) use legacy::{core_versions, group, groups, resources};

use serde_json::{Value, json};

use super::crd::compare_versions;
use super::resource::Catalogue;

/// A group and the names of its versions, the preferred version first.
struct Group {
    name: String,
    versions: Vec<String>,
}

/// Returns all groups but the core group in the order of discovery: the built-in ones by their priority, then
/// the custom ones by name.
fn named_groups(catalogue: &Catalogue) -> Vec<Group> {
    let builtin = catalogue.builtin_groups().iter();
    let mut builtin: Vec<_> = builtin.filter(|group| !group.name.is_empty()).collect();
    builtin.sort_by_key(|group| std::cmp::Reverse(group.priority));
    let mut groups: Vec<Group> = builtin
        .into_iter()
        .map(|group| Group {
            name: group.name.clone(),
            versions: group
                .versions
                .iter()
                .map(|(name, _)| name.clone())
                .collect(),
        })
        .collect();
    let mut custom = std::collections::BTreeMap::<&str, Vec<String>>::new();
    for resource in catalogue.custom() {
        let versions = custom.entry(&resource.group).or_default();
        for version in resource.versions.iter().filter(|version| version.served) {
            if !versions.iter().any(|name| **name == *version.name) {
                versions.push(version.name.to_string());
            }
        }
    }
    for (name, mut versions) in custom {
        versions.sort_by(|a, b| compare_versions(a, b));
        let name = name.to_owned();
        groups.push(Group { name, versions });
    }
    groups
}

/// Returns the document `/`, which lists the served paths.
pub(crate) fn paths(catalogue: &Catalogue) -> Value {
    let mut paths = vec!["/api".to_owned(), "/api/v1".to_owned(), "/apis".to_owned()];
    for group in named_groups(catalogue) {
        paths.push(format!("/apis/{}", group.name));
        for version in &group.versions {
            paths.push(format!("/apis/{}/{version}", group.name));
        }
    }
    for path in [
        "healthz",
        "livez",
        "openapi/v2",
        "openapi/v3",
        "readyz",
        "version",
    ] {
        paths.push(format!("/{path}"));
    }
    paths.sort();
    json!({"paths": paths})
}
