//! The embedded Kubernetes API: an API server that is a value.
//!
//! Objects are `serde_json::Value`, kept in memory in one store with one revision counter. What a
//! controller manager does beside an API server (garbage collection, namespaces, workloads that
//! become ready) runs in the drain loop of each commit, so that a test that has settled has settled.
//! Imports `model` and `clock` only: a bug must not sit on both sides of a test.

pub mod error;
