//! The errors of an operator.

use tokio::task::JoinError;

use crate::cluster::connect;
use crate::model::Diagnostic;
use crate::{lease, server};

/// An error that prevented the start of an operator, or ended it.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// watches.yaml or a role is wrong: all that is, warnings and notes included.
    #[error("the project has errors")]
    Project(Vec<Diagnostic>),
    /// There is no cluster to talk to.
    #[error("cannot connect")]
    Connect(#[source] connect::Error),
    /// A server cannot listen.
    #[error("cannot serve")]
    Server(#[source] server::Error),
    /// Signals cannot be heard.
    #[error("cannot hear signals")]
    Signals(#[source] std::io::Error),
    /// Another replica may lead now.
    #[error("no longer the leader")]
    Lost(#[source] lease::LeaseLost),
    /// A task ended that never should.
    #[error("a part of the process ended abnormally")]
    Panicked(#[source] JoinError),
}
