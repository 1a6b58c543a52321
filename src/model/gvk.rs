//! Group, version and kind of an API resource.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A group, version and kind. One pointer wide, cheap to clone: each cached object carries one.
#[derive(Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Gvk(Arc<GvkParts>);

/// The parts of a [`Gvk`].
#[derive(PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct GvkParts {
    /// API group, `""` for the core group.
    pub group: Box<str>,
    /// Version within the group, e.g. `v1alpha1`.
    pub version: Box<str>,
    /// Kind, e.g. `Deployment`.
    pub kind: Box<str>,
}

impl Deref for Gvk {
    type Target = GvkParts;

    fn deref(&self) -> &GvkParts {
        &self.0
    }
}

impl Gvk {
    /// Creates it from group, version and kind.
    pub fn new(group: &str, version: &str, kind: &str) -> Self {
        Self(Arc::new(GvkParts {
            group: group.into(),
            version: version.into(),
            kind: kind.into(),
        }))
    }

    /// Creates it from `apiVersion` (`v1`, `apps/v1`) and `kind`.
    pub fn from_api_version(api_version: &str, kind: &str) -> Self {
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        Self::new(group, version, kind)
    }

    /// Returns the `apiVersion` of objects of this kind.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() {
            self.version.to_string()
        } else {
            format!("{}/{}", self.group, self.version)
        }
    }

    /// Returns `Kind.group`, or `Kind` for the core group, as kubectl and owner annotations name a kind.
    pub fn kind_group(&self) -> String {
        if self.group.is_empty() {
            self.kind.to_string()
        } else {
            format!("{}.{}", self.kind, self.group)
        }
    }

    /// Returns whether both have the same group and kind. Ignores the version.
    pub fn same_kind(&self, other: &Self) -> bool {
        self.kind == other.kind && self.group == other.group
    }
}

/// `apps/v1 Deployment`
impl fmt::Display for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.group.is_empty() {
            write!(f, "{} {}", self.version, self.kind)
        } else {
            write!(f, "{}/{} {}", self.group, self.version, self.kind)
        }
    }
}

impl fmt::Debug for Gvk {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn api_version_survives_the_round_trip() {
        for api_version in ["v1", "apps/v1", "cache.example.com/v1alpha1"] {
            assert_eq!(
                Gvk::from_api_version(api_version, "Any").api_version(),
                api_version
            );
        }
    }

    #[test]
    fn the_core_group_has_no_suffix() {
        assert_eq!(Gvk::from_api_version("v1", "Secret").kind_group(), "Secret");
        assert_eq!(
            Gvk::from_api_version("apps/v1", "Deployment").kind_group(),
            "Deployment.apps"
        );
    }
}
