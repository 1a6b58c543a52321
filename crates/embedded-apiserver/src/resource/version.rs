//! A version of a resource.

use std::sync::Arc;

use crate::crd;
use crate::schema::Schema;

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
    pub custom: Option<Arc<CompiledVersion>>,
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

/// The compiled definition of a version of a custom resource.
#[derive(Debug)]
pub struct CompiledVersion {
    /// The rules for pruning, defaulting and validation, and the printer columns.
    pub version: crd::Version,
    /// The types, for field ownership.
    pub schema: Schema,
}
