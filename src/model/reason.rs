//! The triggers of runs.

use std::fmt;

/// The reason of a run, the script's `reason`. Ordered: the first of several wins.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Reason {
    /// The CR is being deleted.
    Deleted,
    /// The CR is new.
    Created,
    /// The CR's generation (or labels and annotations, where asked for) changed.
    Changed,
    /// The annotation `rhai.operator/reconcile-at` has a new value.
    Requested,
    /// A child changed or went away.
    Child,
    /// An object or list that the last run read changed.
    Read,
    /// An object that a run waits for changed, or the custom resource is no longer paused.
    Resumed,
    /// The role or the watch changed.
    Role,
    /// The operator started.
    Startup,
    /// A run that failed is tried again.
    Retry,
    /// The role asked for it with `requeue`.
    Requeue,
    /// The periodic resync.
    Period,
    /// A cron schedule.
    Schedule,
}

impl Reason {
    /// The word that scripts, logs and metrics use.
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
            Self::Schedule => "schedule",
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
