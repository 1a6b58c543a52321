//! The stages of a scenario.

use std::fmt;

/// A stage, in the order in which they run: Molecule's.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Stage {
    /// The cluster comes up: CRDs, the namespace.
    Create,
    /// What must be there before the operator starts.
    Prepare,
    /// The operator starts; custom resources are applied and must become ready.
    Converge,
    /// Everything is reconciled once more, and nothing may be written.
    Idempotence,
    /// Something happens to the cluster.
    SideEffect,
    /// What must be so now.
    Verify,
    /// What is to be deleted first.
    Cleanup,
    /// Everything that the scenario applied is deleted, and must go.
    Destroy,
}

impl Stage {
    /// All of them, in order.
    pub const ALL: [Self; 8] = [
        Self::Create,
        Self::Prepare,
        Self::Converge,
        Self::Idempotence,
        Self::SideEffect,
        Self::Verify,
        Self::Cleanup,
        Self::Destroy,
    ];

    /// Its name: that of its file without the ending.
    pub fn name(self) -> &'static str {
        match self {
            Self::Create => "create",
            Self::Prepare => "prepare",
            Self::Converge => "converge",
            Self::Idempotence => "idempotence",
            Self::SideEffect => "side_effect",
            Self::Verify => "verify",
            Self::Cleanup => "cleanup",
            Self::Destroy => "destroy",
        }
    }

    /// The stage of a name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// What the documents of its YAML file are.
    pub(super) fn documents(self) -> DocumentUse {
        match self {
            Self::Create | Self::Prepare | Self::Converge | Self::SideEffect => DocumentUse::Apply,
            Self::Idempotence | Self::Verify => DocumentUse::Expect,
            Self::Cleanup | Self::Destroy => DocumentUse::Delete,
        }
    }
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// What the documents of a stage's YAML file are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentUse {
    /// Manifests to apply.
    Apply,
    /// What must be so.
    Expect,
    /// Objects to delete.
    Delete,
}
