//! Tests of the operator on a real Kubernetes and on the embedded API.
//!
//! Each file lists its tests with [`test_harness::trials!`]. All tests of an environment share one cluster; each
//! test has a namespace and an API group of its own.

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
mod credentials;
mod deploy;
mod examples;
mod faults;
mod finalizer;
mod harness_works;
mod impostor;
mod leader;
mod limits;
mod load;
mod misbehaving;
mod operator;
mod ownership;
mod pipelines;
mod ports;
mod reclaim;
mod role_run;
mod scaffold;
mod scale;
mod scenarios;
mod status;
mod steps;
mod subscriptions;
mod unreadable;
mod widgets;

use std::process::ExitCode;

use test_harness::Suite;

fn main() -> ExitCode {
    if test_harness::is_operator_process() {
        return misbehaving::operator();
    }
    Suite::new(env!("CARGO_BIN_EXE_rhai-operator")).run([
        admission::tests(),
        apply::tests(),
        certificates::tests(),
        clients::tests(),
        cluster::tests(),
        crash::tests(),
        credentials::tests(),
        deploy::tests(),
        examples::tests(),
        faults::tests(),
        finalizer::tests(),
        harness_works::tests(),
        impostor::tests(),
        leader::tests(),
        limits::tests(),
        load::tests(),
        misbehaving::tests(),
        operator::tests(),
        ownership::tests(),
        pipelines::tests(),
        ports::tests(),
        reclaim::tests(),
        role_run::tests(),
        scaffold::tests(),
        scale::tests(),
        scenarios::tests(),
        status::tests(),
        subscriptions::tests(),
        unreadable::tests(),
    ])
}
