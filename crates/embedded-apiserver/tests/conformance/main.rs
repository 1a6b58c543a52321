//! Compares the embedded API with a real Kubernetes by sending the same requests to both.
//!
//! The YAML files in `requests/` contain HTTP requests, and those in `kubectl/` contain kubectl commands
//! ([`test_harness::requests`] defines the format). Each sequence of steps is a trial with its own namespace
//! and API group. [`normal`] replaces the parts of a response that differ between any two servers: uids,
//! revisions, times. `differences.yaml` declares the remaining differences with their reasons.
//!
//! `CONFORMANCE` selects the comparison. By default, the embedded API is compared with the real server. With
//! `recorded`, it is compared with recorded responses of the real server, which takes seconds instead of
//! minutes. With `self`, the real server is compared with itself, which checks [`normal`].
//! `CONFORMANCE_PRINT=1` prints the responses. `CONFORMANCE_KUBECONFIG` selects a cluster that
//! `tests/kubernetes/up` started.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a panic fails the test, and the summary is for people"
)]

mod comparison;
mod declared;
mod exchange;
mod fixtures;
mod kubectl;
mod normal;
mod recording;
mod run;
mod select;
mod servers;
mod step_response;
mod stream;
mod summary;

use std::process::ExitCode;

use libtest_mimic::Arguments;
use test_harness::run_folder;

/// The number of sequences that run concurrently. It can exceed the number of cores, because sequences mostly
/// wait for a server.
const CONCURRENT_SEQUENCES: usize = 8;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(CONCURRENT_SEQUENCES);
    let conclusion = libtest_mimic::run(&arguments, run::trials());
    let complete = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    let in_order = summary::close(complete);
    run::runtime().block_on(servers::stop());
    if conclusion.has_failed() || !in_order {
        return ExitCode::FAILURE;
    }
    run_folder::remove();
    ExitCode::SUCCESS
}
