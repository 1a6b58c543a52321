//! The API groups with their versions, in the order of discovery.

use crate::crd::compare_versions;
use crate::resource::Catalogue;

/// A group and the names of its versions, the preferred version first.
pub(super) struct Group {
    pub(super) name: String,
    pub(super) versions: Vec<String>,
}

/// Returns all groups but the core group in the order of discovery: the built-in ones by their priority, then
/// the custom ones by name.
pub(super) fn named_groups(catalogue: &Catalogue) -> Vec<Group> {
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
