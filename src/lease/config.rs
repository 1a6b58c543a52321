//! The configuration of an election.

use std::time::Duration;

/// The lease, this replica's name, and the times.
#[derive(Clone, Debug)]
pub(crate) struct Config {
    /// Namespace of the lease.
    pub namespace: String,
    /// Name of the lease.
    pub name: String,
    /// Name of this replica; no other has it.
    pub identity: String,
    /// The time that other replicas wait after the last renewal that they observed.
    pub lease_duration: Duration,
    /// The time that the leader tries to renew the lease before it stops.
    pub renew_deadline: Duration,
    /// The time between two attempts.
    pub retry_period: Duration,
}

impl Config {
    /// client-go's times: 15 s, 10 s, 2 s.
    pub(crate) fn new(
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
