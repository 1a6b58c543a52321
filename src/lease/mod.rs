//! Leader election with a Lease (coordination.k8s.io/v1): one of several replicas works, and the others are
//! standbys.
//!
//! # Flow
//! [`Elector::run`] reads the lease every [`Config::retry_period`], acquires it when it is free, and renews
//! it as the leader. [`Leadership`] informs the rest of the process, and limits its writes
//! ([`Leadership::write_deadline`]). On shutdown, the elector releases the lease, so that the next replica
//! does not have to wait.
//!
//! # Guarantees
//! The deadline of writes is never later than [`Config::renew_deadline`] after the last renewal was
//! sent. Other replicas wait until the lease has not changed for [`Config::lease_duration`]. Two replicas
//! therefore never write at the same time, even if this process is suspended and resumed.
//!
//! # Assumptions
//! Clocks of replicas run equally fast; they need not agree. A request is not delivered later than
//! `lease_duration - renew_deadline` after it was given up.
//!
//! # Errors
//! A leader that cannot renew in time ends with [`LeaseLost`]: the process must stop working, and exit.

mod config;
mod election;
mod elector;
mod leadership;

pub(crate) use config::Config;
pub(crate) use elector::{Elector, LeaseLost};
pub(crate) use leadership::Leadership;
