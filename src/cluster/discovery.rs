//! What the cluster serves: asked on demand, per group and version, and kept.

use crate::model::Gvk;

/// A kind as a cluster serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiKind {
    /// Group, version and kind.
    pub gvk: Gvk,
    /// Its name in URLs, e.g. `deployments`.
    pub plural: Box<str>,
    /// Whether its objects live in namespaces.
    pub namespaced: bool,
    /// What can be done with it: `get`, `list`, `watch`, …
    pub verbs: Box<[Box<str>]>,
    /// Whether it has a status subresource.
    pub has_status: bool,
    /// Whether it has a scale subresource.
    pub has_scale: bool,
}

impl ApiKind {
    /// `deployments.apps`, as RBAC and kubectl name it.
    pub fn resource(&self) -> String {
        if self.gvk.group.is_empty() {
            self.plural.to_string()
        } else {
            format!("{}.{}", self.plural, self.gvk.group)
        }
    }
}

/// An API group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ApiGroup {
    /// Its name, `""` for the core group.
    pub name: String,
    /// Its versions, the preferred one first.
    pub versions: Vec<String>,
}
