//! A resource in all its versions.

use std::sync::Arc;

use super::names::api_version;
use super::strategy::Strategy;
use super::version::Version;

/// A resource in all its versions.
#[derive(Debug, Clone)]
pub struct Resource {
    pub(super) id: Arc<str>,
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
    pub(super) storage: Option<Arc<str>>,
    pub(super) custom: bool,
    /// Objects with a revision up to this one may have been stored under an earlier form of the definition.
    pub(super) changed_at: u64,
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
