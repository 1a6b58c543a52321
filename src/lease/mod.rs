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

mod config;
mod election;
mod elector;
mod leadership;

pub(crate) use config::Config;
pub(crate) use elector::{Elector, LeaseLost};
pub(crate) use leadership::Leadership;
