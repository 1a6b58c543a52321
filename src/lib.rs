//! A Kubernetes operator runtime: custom resources are reconciled by roles written in Rhai.
//!
//! # Layers
//!
//! Imports point down only (`tests/house/` checks it).
//!
//! | layer | modules |
//! |---|---|
//! | 0 | `model`, `clock`, `backoff`, `regular_file` |
//! | 1 | `testing`, `telemetry`, `watches`, `script`, `role_files` |
//! | 2 | `cluster`, `pipeline`, `server` |
//! | 3 | `apply`, `lease`, `role` |
//! | 4 | `host` |
//! | 5 | `pipeline::execute` |
//! | 6 | `reconcile` |
//! | 7 | `controller` |
//! | 8 | `operator` |
//! | 9 | `scenario`, `generate` |
//! | 10 | `cli` |

pub mod apply;
mod backoff;
pub mod cli;
pub mod cluster;
mod controller;
mod generate;
pub mod host;
mod lease;
pub mod model;
mod operator;
pub mod pipeline;
pub mod reconcile;
mod regular_file;
pub mod role;
mod role_files;
#[cfg(feature = "scenario-tests")]
mod scenario;
pub mod script;
pub mod server;
mod telemetry;
#[cfg(test)]
mod testing;
pub mod watches;

pub use clock;

// Here and not in the binary: tests and benchmarks count as the operator does.
#[global_allocator]
static ALLOCATOR: allocation_meter::Metered<mimalloc::MiMalloc> =
    allocation_meter::Metered::new(mimalloc::MiMalloc);
