//! Logs, metrics, readiness and the watchdog of the process.
//!
//! Knows nothing of Kubernetes: the layers above hand it names and numbers. Serving it over HTTP is
//! `server`'s part.

pub(crate) mod log;
pub(crate) mod logging;
pub(crate) mod metrics;
mod process;
pub(crate) mod readiness;
pub(crate) mod watchdog;

pub(crate) use metrics::Metrics;
pub(crate) use readiness::Readiness;
pub(crate) use watchdog::Watchdog;
