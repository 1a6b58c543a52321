//! The triggers of runs.

use std::fmt;

/// The reason of a run, which scripts see as `reason`. Ordered: the first of several reasons is used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The CR is being deleted.
    Deleted,
    /// The CR is new.
    Created,
    /// The CR's generation changed, or its labels and annotations if the watch includes them.
    Changed,
    /// The annotation `rhai.operator/reconcile-at` has a new value.
    Requested,
    /// A child changed or was deleted.
    Child,
    /// An object or list that the last run read changed.
    Read,
    /// An object that a run waits for changed, or the custom resource is no longer paused.
    Resumed,
    /// The role or the watch changed.
    Role,
    /// The operator started.
    Startup,
    /// A retry after a failed run.
    Retry,
    /// The role called `requeue`.
    Requeue,
    /// The periodic resync.
    Period,
}

impl Reason {
    /// Returns the word that scripts, logs and metrics use.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Deleted => "deleted",
            Self::Created => "created",
            Self::Changed => "changed",
            Self::Requested => "requested",
            Self::Child => "child",
            Self::Read => "read",
            Self::Resumed => "resumed",
            Self::Role => "role",
            Self::Startup => "startup",
            Self::Retry => "retry",
            Self::Requeue => "requeue",
            Self::Period => "period",
        }
    }

    /// Returns whether this trigger ends a backoff at once.
    pub fn cuts_backoff(self) -> bool {
        matches!(
            self,
            Self::Deleted | Self::Created | Self::Changed | Self::Requested | Self::Role
        )
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
