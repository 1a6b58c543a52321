//! Logs, metrics, readiness and the watchdog of the process.
//!
//! Knows nothing of Kubernetes: the layers above hand it names and numbers. Serving it over HTTP is
//! `server`'s part.

pub(crate) mod log;
pub mod logging;
pub mod metrics;
mod process;
pub mod readiness;
pub mod watchdog;

pub use metrics::Metrics;
pub use readiness::Readiness;
pub use watchdog::Watchdog;
