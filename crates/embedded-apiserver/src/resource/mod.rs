//! The resources that the server serves: versions, verbs and strategies.
//!
//! Built-in resources are data from the discovery of a real server (`recipe.py`). Custom resources exist as
//! long as their definitions.

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
    /// Objects with a revision up to this one may have been stored under an earlier form of the definition.
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
    /// The group and version of the response, if it differs from the resource's own: evictions have
    /// `policy/v1`.
    pub response: Option<GroupVersion>,
    /// The warning that requests in this version get.
    pub deprecation: Option<String>,
    /// The compiled definition of a custom version.
    pub custom: Option<Arc<Custom>>,
}

/// A part of an object with its own path and permissions: `deployments/scale`.
#[derive(Debug, Clone)]
pub struct Subresource {
    /// `scale`
    pub name: Box<str>,
    /// `Scale`
    pub kind: Box<str>,
    /// The group and version of the kind, if they differ from those of the resource.
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
    /// Returns the plural and the group: `deployments.apps`, `pods`.
    pub fn id(&self) -> &Arc<str> {
        &self.id
    }

    /// Returns the id of the resource that stores the objects. It differs from [`Self::id`] for Events, which
    /// two groups serve.
    pub fn storage(&self) -> &Arc<str> {
        self.storage.as_ref().unwrap_or(&self.id)
    }

    /// Returns whether a custom resource definition defines the resource.
    pub fn is_custom(&self) -> bool {
        self.custom
    }

    /// Returns whether an object of this revision may have been stored under an earlier form of the
    /// definition.
    pub fn may_outdate(&self, revision: &str) -> bool {
        self.changed_at > 0
            && revision
                .parse()
                .is_ok_and(|one: u64| one <= self.changed_at)
    }

    /// Returns a served version by its name.
    pub fn served(&self, name: &str) -> Option<&Version> {
        self.versions.iter().find(|v| v.served && &*v.name == name)
    }

    /// Returns the version in which objects are stored.
    pub fn storage_version(&self) -> &Version {
        let stored = self.versions.iter().find(|version| version.storage);
        stored.unwrap_or(&self.versions[0])
    }

    /// Returns whether the server stores objects of the resource. It responds to reviews without storing
    /// them.
    pub fn is_stored(&self) -> bool {
        let verbs = &self.storage_version().verbs;
        verbs.iter().any(|verb| verb == "list") && &*self.plural != "componentstatuses"
    }

    /// Returns the apiVersion of a version of the resource: `apps/v1`, `v1`.
    pub fn api_version(&self, version: &str) -> String {
        api_version(&self.group, version)
    }
}

impl Version {
    /// Returns a subresource by its name.
    pub fn subresource(&self, name: &str) -> Option<&Subresource> {
        self.subresources.iter().find(|one| &*one.name == name)
    }

    /// Returns whether the subresource supports the verb.
    pub fn allows(&self, verb: &str) -> bool {
        self.verbs.iter().any(|one| one == verb)
    }
}

/// Returns an apiVersion: `apps/v1`, or `v1` for the core group.
pub(crate) fn api_version(group: &str, version: &str) -> String {
    if group.is_empty() {
        version.to_owned()
    } else {
        format!("{group}/{version}")
    }
}

/// Splits an `apiVersion` into the group and the version.
pub(crate) fn split_api_version(api_version: &str) -> (&str, &str) {
    api_version.split_once('/').unwrap_or(("", api_version))
}

/// Returns the id of a resource: `deployments.apps`, `pods`.
pub(crate) fn id_of(group: &str, plural: &str) -> String {
    if group.is_empty() {
        plural.to_owned()
    } else {
        format!("{plural}.{group}")
    }
}
