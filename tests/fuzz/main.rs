//! Random edits of bytes from outside: the operator accepts or refuses them, and does not panic or hang.
//!
//! | module | edited bytes |
//! |---|---|
//! | [`ports`] | bytes sent to the ports of the operator and of the embedded API |
//! | [`projects`] | `watches.yaml`, and the scripts, pipelines, templates and other files of roles |
//! | [`kubeconfigs`] | kubeconfigs |
//! | [`answers`] | answers and watch streams of an API server |
//!
//! `tests/hostile` tests custom resources, and `crates/embedded-apiserver/tests/fuzz` the requests to the
//! embedded API. A run makes a fixed number of edits, which are the same in each run. This command makes
//! others:
//!
//! ```console
//! $ PROPTEST_CASES=100000 cargo test --release --test fuzz
//! ```

#![allow(
    clippy::unwrap_used,
    clippy::unwrap_in_result,
    clippy::panic,
    reason = "a panic fails the test"
)]

mod answers;
mod kubeconfigs;
mod ports;
mod projects;
