//! The uses of the Kubernetes API that the code of a role contains.

use std::sync::Arc;

use super::objects::Manifest;

/// A call in the code of a role.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Site {
    pub(crate) role: Arc<str>,
    /// The path of the file within the role.
    pub(crate) file: String,
    /// Line from 1.
    pub(crate) line: usize,
    /// Column from 1.
    pub(crate) column: usize,
    /// The function, or the action of the step.
    pub(crate) call: &'static str,
}

/// The requests that a call sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Operation {
    /// Reads, waits, lists.
    Read,
    /// Applies objects that the custom resource owns.
    Apply,
    /// Applies objects without an owner, which are never pruned.
    ApplyShared,
    /// Creates objects that it never changes.
    Create,
    /// Deletes objects.
    Delete,
    /// Patches objects.
    Patch,
    /// Sets the number of replicas.
    Scale,
}

impl Operation {
    /// Returns the verbs on the resource.
    pub(crate) fn verbs(self) -> &'static [&'static str] {
        match self {
            Self::Read | Self::Scale => &["get", "list", "watch"],
            Self::Apply => &["get", "list", "watch", "create", "patch", "delete"],
            Self::ApplyShared => &["get", "list", "watch", "create", "patch"],
            Self::Create => &["get", "list", "watch", "create"],
            Self::Delete => &["get", "list", "watch", "delete"],
            Self::Patch => &["get", "list", "watch", "patch"],
        }
    }

    /// Returns whether it creates or changes objects that the custom resource owns.
    pub(super) fn makes_children(self) -> bool {
        matches!(self, Self::Apply | Self::Create)
    }
}

/// A call with the objects that it can be given.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct ApiUse {
    pub(super) site: Site,
    pub(super) operation: Operation,
    /// The kind of the objects; `None` if a run computes it.
    pub(super) manifest: Option<Manifest>,
}

/// A call of another role. The name is `None` if a run computes it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct RoleUse {
    pub(super) site: Site,
    pub(super) name: Option<String>,
}

/// All uses of the code of one role.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Uses {
    pub(super) api: std::collections::BTreeSet<ApiUse>,
    pub(super) roles: std::collections::BTreeSet<RoleUse>,
}
