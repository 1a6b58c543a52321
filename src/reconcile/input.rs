//! The input of a run.

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

use super::report::History;
use crate::model::{Object, Reason};
use crate::role::Roles;
use crate::watches::Watch;

/// The input of a run.
#[derive(Clone)]
pub struct Input {
    /// The last known custom resource.
    pub cr: Arc<Object>,
    /// The watch that selects the custom resource.
    pub watch: Arc<Watch>,
    /// The roles of the project.
    pub roles: Arc<Roles>,
    /// The reason of the run.
    pub reason: Reason,
    /// The mode of the run.
    pub mode: Mode,
    /// Cancels the run, for a newer generation or at shutdown.
    pub cancel: CancellationToken,
    /// The history of the last report; empty for the first run.
    pub history: Arc<History>,
}

impl Input {
    /// Returns the first run of the operator for a new custom resource.
    pub fn new(cr: Arc<Object>, watch: &Arc<Watch>, roles: &Arc<Roles>) -> Self {
        Self {
            cr,
            watch: Arc::clone(watch),
            roles: Arc::clone(roles),
            reason: Reason::Created,
            mode: Mode::Operator,
            cancel: CancellationToken::new(),
            history: Arc::default(),
        }
    }
}

/// The mode of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A run of the operator: it adds finalizers and sends Events.
    Operator,
    /// A run of the command line: it records host calls and changes, and never adds finalizers.
    Once,
    /// As [`Mode::Once`], with dry-run writes and without Events.
    Plan,
}
