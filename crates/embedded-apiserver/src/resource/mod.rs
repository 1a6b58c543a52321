//! The resources that the server serves: versions, verbs and strategies.
//!
//! Built-in resources are data, taken from a real server's discovery (`recipe.py`); custom ones come
//! and go with their definitions.

mod builtin;
mod catalogue;
mod custom;
mod strategy;

use std::sync::Arc;

pub(crate) use catalogue::Catalogue;
pub(crate) use custom::Custom;
pub(crate) use strategy::{Generation, Strategy};

/// A resource in all its versions.
#[derive(Debug, Clone)]
pub struct Resource {
    id: Arc<str>,
    /// The API group, empty for the core.
    pub group: Box<str>,
    /// The name in URLs: `deployments`.
    pub plural: Box<str>,
    /// `deployment`
    pub singular: Box<str>,
    /// `Deployment`
    pub kind: Box<str>,
    /// `DeploymentList`
    pub list_kind: Box<str>,
    pub namespaced: bool,
    /// The short names in kubectl, such as `deploy`.
    pub short_names: Vec<String>,
    /// Groups of resources such as `all`.
    pub categories: Vec<String>,
    /// The rules for writes.
    pub strategy: Strategy,
    /// The versions, the preferred one first.
    pub versions: Vec<Version>,
    storage: Option<Arc<str>>,
    custom: bool,
    /// Objects of revisions up to this one may be older than the definition of the resource.
    changed_at: u64,
}

/// A version of a resource.
#[derive(Debug, Clone)]
pub struct Version {
    /// `v1`
    pub name: Box<str>,
    /// True if requests can use the version.
    pub served: bool,
    /// True if objects are stored in this version.
    pub storage: bool,
    /// The verbs that the version supports.
    pub verbs: Vec<String>,
    /// Its subresources.
    pub subresources: Vec<Subresource>,
    /// A hash by which clients see that the storage version has changed.
    pub storage_hash: Option<String>,
    /// The kind of its objects where it is of another group, such as `policy/v1`.
    pub response: Option<GroupVersion>,
    /// The warning that requests in this version get.
    pub deprecation: Option<String>,
    /// The compiled definition of a custom version.
    pub custom: Option<Arc<Custom>>,
}

/// Part of an object with a path and rights of its own: `deployments/scale`.
#[derive(Debug, Clone)]
pub struct Subresource {
    /// `scale`
    pub name: Box<str>,
    /// `Scale`
    pub kind: Box<str>,
    /// The group and version of the kind where it is not the resource's own.
    pub response: Option<GroupVersion>,
    /// The verbs that the subresource supports.
    pub verbs: Vec<String>,
}

/// The group and version of a kind.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupVersion {
    /// `autoscaling`
    pub group: Box<str>,
    /// `v1`
    pub version: Box<str>,
}

impl Resource {
    /// `deployments.apps`, `pods`: the plural and the group.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// The id of the resource whose objects these are: events exist in two groups.
    pub fn storage(&self) -> &Arc<str> {
        self.storage.as_ref().unwrap_or(&self.id)
    }

    /// Returns whether a custom resource definition made it.
    pub fn is_custom(&self) -> bool {
        self.custom
    }

    /// Returns whether an object of this revision may be older than the definition of the resource.
    pub fn may_outdate(&self, revision: &str) -> bool {
        self.changed_at > 0
            && revision
                .parse()
                .is_ok_and(|one: u64| one <= self.changed_at)
    }

    /// A version that requests may name.
    pub fn served(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|v| v.served && &*v.name == name)
    }

    /// The version in which objects are kept.
    pub fn storage_version(&self) -> &Version {
        let stored = self.versions.iter().find(|version| version.storage);
        stored.unwrap_or(&self.versions[0])
    }

    /// Returns whether its objects are kept at all: reviews are answered and forgotten.
    pub fn is_stored(&self) -> bool {
        let verbs = &self.storage_version().verbs;
        verbs.iter().any(|verb| verb == "list") && &*self.plural != "componentstatuses"
    }

    /// `apps/v1`, `v1`
    pub fn api_version(&self, version: &str) -> String {
        api_version(&self.group, version)
    }
}

impl Version {
    /// Returns a subresource by its name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|one| &*one.name == name)
    }

    /// Returns whether the verb is in its list.
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|one| one == verb)
    }
}

/// `apps/v1`, `v1` in the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// The group and the version of an `apiVersion`.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// `deployments.apps`, `pods`
pub(crate) fn id_of(group: &str, plural: &str) -> String {
    if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    }
}
