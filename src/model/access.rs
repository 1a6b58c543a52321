//! An API request in the terms of RBAC, which the permissions of a role allow or refuse.

use std::fmt;

/// The scope of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AccessScope<'a> {
    /// To a cluster-scoped resource.
    Cluster,
    /// To the objects of all namespaces.
    AllNamespaces,
    /// To one namespace.
    Namespace(&'a str),
}

/// An API request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Access<'a> {
    /// `get`, `list`, `create`, …
    pub verb: &'a str,
    /// The API group; `""` is the core group.
    pub group: &'a str,
    /// The plural, with the subresource where there is one: `deployments/scale`.
    pub resource: &'a str,
    /// The scope.
    pub scope: AccessScope<'a>,
    /// The name of the object; empty for a collection and for a create. A list that selects one name has
    /// it.
    pub name: &'a str,
}

/// `get secrets n/db`, `list deployments.apps in all namespaces`
impl fmt::Display for Access<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (resource, subresource) = match self.resource.split_once('/') {
            Some((resource, subresource)) => (resource, Some(subresource)),
            None => (self.resource, None),
        };
        write!(f, "{} {resource}", self.verb)?;
        if !self.group.is_empty() {
            write!(f, ".{}", self.group)?;
        }
        if let Some(subresource) = subresource {
            write!(f, "/{subresource}")?;
        }
        match (self.scope, self.name) {
            (AccessScope::Cluster, "") => Ok(()),
            (AccessScope::Cluster, name) => write!(f, " {name}"),
            (AccessScope::AllNamespaces, _) => write!(f, " in all namespaces"),
            (AccessScope::Namespace(namespace), "") => write!(f, " in namespace {namespace}"),
            (AccessScope::Namespace(namespace), name) => write!(f, " {namespace}/{name}"),
        }
    }
}
