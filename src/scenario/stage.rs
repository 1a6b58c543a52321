//! The stages of a scenario.

use std::fmt;

/// A stage of Molecule. The variants are in the order in which stages run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) enum Stage {
    /// The cluster comes up: CRDs, the namespace.
    Create,
    /// Objects that must exist before the operator starts.
    Prepare,
    /// The operator starts; custom resources are applied and must become ready.
    Converge,
    /// All custom resources are reconciled once more. The operator must write nothing.
    Idempotence,
    /// Changes to the cluster from outside.
    SideEffect,
    /// Expectations.
    Verify,
    /// Objects to delete before `destroy`.
    Cleanup,
    /// All objects of the scenario are deleted, and must disappear.
    Destroy,
}

impl Stage {
    /// All stages, in order.
    pub(crate) const ALL: [Self; 8] = [
        Self::Create,
        Self::Prepare,
        Self::Converge,
        Self::Idempotence,
        Self::SideEffect,
        Self::Verify,
        Self::Cleanup,
        Self::Destroy,
    ];

    /// Returns the name, which is that of its file without the extension.
    pub(crate) fn name(self) -> &'static str {
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

    /// Returns the stage with this name.
    pub(crate) fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|stage| stage.name() == name)
    }

    /// Returns the use of the documents in the YAML file of the stage.
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

/// The use of the documents in the YAML file of a stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DocumentUse {
    /// Manifests to apply.
    Apply,
    /// Expectations.
    Expect,
    /// Objects to delete.
    Delete,
}
