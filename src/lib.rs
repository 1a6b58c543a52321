//! A Kubernetes operator runtime: custom resources are reconciled by roles written in Rhai.
//!
//! # Layers
//!
//! Imports point down only (`tests/house.rs` checks it).
//!
//! | layer | modules |
//! |---|---|
//! | 0 | [`model`], [`clock`], [`backoff`] |

pub mod backoff;
pub mod clock;
pub mod model;
