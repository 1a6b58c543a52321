//! Tests on a real Kubernetes and on the embedded API, by the same code: one cluster of each for this
//! binary, a namespace and an API group per test.
//!
//! One file per theme; each lists its tests with [`trials!`]. What a test may use is in [`harness`].

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

mod admission;
mod apply;
mod certificates;
mod clients;
mod cluster;
mod crash;
mod deploy;
mod examples;
mod faults;
mod finalizer;
mod harness;
mod harness_works;
mod impostor;
mod leader;
mod misbehaving;
mod operator;
mod ownership;
mod pipelines;
mod ports;
mod reclaim;
mod role_run;
mod scale;
mod status;
#[path = "../steps/mod.rs"]
mod steps;
mod unreadable;
mod widgets;

use std::process::ExitCode;

fn main() -> ExitCode {
    if harness::acts_as_operator() {
        return misbehaving::operator();
    }
    harness::main([
        admission::tests(),
        apply::tests(),
        certificates::tests(),
        clients::tests(),
        cluster::tests(),
        crash::tests(),
        deploy::tests(),
        examples::tests(),
        faults::tests(),
        finalizer::tests(),
        harness_works::tests(),
        impostor::tests(),
        leader::tests(),
        misbehaving::tests(),
        operator::tests(),
        ownership::tests(),
        pipelines::tests(),
        ports::tests(),
        reclaim::tests(),
        role_run::tests(),
        scale::tests(),
        status::tests(),
        unreadable::tests(),
    ])
}
