//! Leader election by a Lease (coordination.k8s.io/v1): of several replicas one works, the others stand
//! by.
//!
//! # Flow
//! [`Elector::run`] asks for the lease every [`Config::retry_period`], writes it when it is free, and as
//! leader renews it. [`Leadership`] tells the rest of the process, and bounds its writes
//! ([`Leadership::write_deadline`]). On shutdown the lease is given back, so that the next replica need
//! not wait.
//!
//! # Guarantees
//! The deadline of writes is never later than [`Config::renew_deadline`] after the last renewal was
//! sent; others wait for [`Config::lease_duration`] of silence. So no two replicas write at a time, also
//! when this process is stopped and continued.
//!
//! # Assumptions
//! Clocks of replicas run equally fast; they need not agree. A request is not delivered later than
//! `lease_duration - renew_deadline` after it was given up.
//!
//! # Errors
//! A leader that cannot renew in time ends with [`LeaseLost`]: the process must stop working, and exit.

mod election;
mod elector;
mod leadership;

use std::time::Duration;

pub use elector::{Elector, LeaseLost};
pub use leadership::Leadership;

/// The lease, this replica's name, and the times.
#[derive(Clone, Debug)]
pub struct Config {
    /// Namespace of the lease.
    pub namespace: String,
    /// Name of the lease.
    pub name: String,
    /// Name of this replica; no other has it.
    pub identity: String,
    /// The time that other replicas wait after the last renewal that they observed.
    pub lease_duration: Duration,
    /// The time that the leader tries to renew before it gives up.
    pub renew_deadline: Duration,
    /// The time between two attempts.
    pub retry_period: Duration,
}

impl Config {
    /// client-go's times: 15 s, 10 s, 2 s.
    pub fn new(
        namespace: impl Into<String>,
        name: impl Into<String>,
        identity: impl Into<String>,
    ) -> Self {
        Self {
            namespace: namespace.into(),
            name: name.into(),
            identity: identity.into(),
            lease_duration: Duration::from_secs(15),
            renew_deadline: Duration::from_secs(10),
            retry_period: Duration::from_secs(2),
        }
    }
}
