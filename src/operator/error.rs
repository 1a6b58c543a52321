//! The errors of an operator.

use tokio::task::JoinError;

use crate::cluster::connect;
use crate::model::Diagnostic;
use crate::{lease, server};

/// An error that prevented the start of an operator, or ended it.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    /// watches.yaml or a role has errors. Contains all diagnostics, including warnings and notes.
    #[error("the project has errors")]
    Project(Vec<Diagnostic>),
    /// The connection to a cluster failed.
    #[error("cannot connect")]
    Connect(#[source] connect::Error),
    /// A server cannot listen.
    #[error("cannot serve")]
    Server(#[source] server::Error),
    /// The process cannot receive signals.
    #[error("cannot install signal handlers")]
    Signals(#[source] std::io::Error),
    /// The lease was lost: another replica can lead now.
    #[error("no longer the leader")]
    Lost(#[source] lease::LeaseLost),
    /// A task ended unexpectedly.
    #[error("a task of the operator ended unexpectedly")]
    Panicked(#[source] JoinError),
}
