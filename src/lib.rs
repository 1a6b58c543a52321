//! A Kubernetes operator runtime: custom resources are reconciled by roles written in Rhai.
//!
//! # Layers
//!
//! Imports point down only (`tests/house.rs` checks it).
//!
//! | layer | modules |
//! |---|---|
//! | 0 | [`model`], [`clock`], [`backoff`] |
//! | 1 | [`script`] |
//! | 1 | [`telemetry`] |
//! | 8 | [`cli`] |

pub mod backoff;
pub mod cli;
pub mod clock;
pub mod model;
pub mod script;
pub mod telemetry;
