//! The roles of a project, by name.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::compiled_role::Role;

/// The roles of a project, by the names that watches and `include_role` use.
#[derive(Debug, Default)]
pub struct Roles(BTreeMap<Arc<str>, Arc<Role>>);

impl Roles {
    /// Returns the role with a name: a folder of the roles folder, or the path in a watch.
    pub fn get(&self, name: &str) -> Option<&Arc<Role>> {
        self.0.get(name)
    }

    /// Returns the names of all roles.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(AsRef::as_ref)
    }

    /// Returns all roles with their names, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&Arc<str>, &Arc<Role>)> {
        self.0.iter()
    }
}

impl FromIterator<(Arc<str>, Arc<Role>)> for Roles {
    fn from_iter<I: IntoIterator<Item = (Arc<str>, Arc<Role>)>>(roles: I) -> Self {
        Self(roles.into_iter().collect())
    }
}
