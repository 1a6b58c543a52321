//! The address of one object.

use std::fmt;
use std::sync::Arc;

use super::Gvk;

/// The kind, namespace and name of an object. An object without a namespace is cluster-scoped. Cheap to
/// clone.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectRef {
    /// The kind.
    pub gvk: Gvk,
    /// Its namespace; `None` for a cluster-scoped object.
    pub namespace: Option<Arc<str>>,
    /// Its name.
    pub name: Arc<str>,
}

impl ObjectRef {
    /// Creates an address. An empty namespace counts as none.
    pub fn new(gvk: Gvk, namespace: Option<&str>, name: &str) -> Self {
        Self {
            gvk,
            namespace: namespace.filter(|n| !n.is_empty()).map(Arc::from),
            name: name.into(),
        }
    }

    /// Returns the namespace; `""` for a cluster-scoped object.
    pub fn namespace_or_empty(&self) -> &str {
        self.namespace.as_deref().unwrap_or_default()
    }
}

/// `Deployment.apps ns/name`
impl fmt::Display for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.gvk.kind_group())?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        write!(f, "{}", self.name)
    }
}

impl fmt::Debug for ObjectRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
