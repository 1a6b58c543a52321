//! Tests on a real Kubernetes: one cluster for this binary, a namespace and an API group per test.
//!
//! One file per theme; each lists its tests with [`trials!`]. What a test may use is in [`harness`].

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

mod apply;
mod cluster;
mod deploy;
mod faults;
mod finalizer;
mod harness;
mod harness_works;
mod leader;
mod operator;
mod role_run;
mod status;
mod widgets;

use std::process::ExitCode;

fn main() -> ExitCode {
    harness::main([
        apply::tests(),
        cluster::tests(),
        deploy::tests(),
        faults::tests(),
        finalizer::tests(),
        harness_works::tests(),
        leader::tests(),
        operator::tests(),
        role_run::tests(),
        status::tests(),
    ])
}
