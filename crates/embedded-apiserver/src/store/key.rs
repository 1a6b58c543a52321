//! The key of an object within its resource.

use std::borrow::Borrow;

/// `namespace/name`, or `name` alone. Keys are ordered byte by byte, as in etcd.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key(Box<str>);

impl Key {
    /// Returns the key of an object. The namespace of a cluster-scoped object is empty.
    pub fn new(namespace: &str, name: &str) -> Self {
        if namespace.is_empty() {
            Self(name.into())
        } else {
            Self(format!("{namespace}/{name}").into())
        }
    }

    /// Parses a key in a continue token.
    pub fn from_text(text: &str) -> Self {
        Self(text.into())
    }

    /// Returns the key as text: `namespace/name`, or `name` alone.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Returns the namespace, which is empty for cluster-scoped objects.
    pub fn namespace(&self) -> &str {
        self.0
            .split_once('/')
            .map_or("", |(namespace, _)| namespace)
    }

    pub fn name(&self) -> &str {
        self.0.split_once('/').map_or(&*self.0, |(_, name)| name)
    }
}

impl Borrow<str> for Key {
    fn borrow(&self) -> &str {
        &self.0
    }
}
