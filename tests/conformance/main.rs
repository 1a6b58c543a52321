//! The embedded API answers as Kubernetes does: the same requests to both, their answers compared.
//!
//! What is asked is in `requests/` and, as commands of kubectl, in `kubectl/`: YAML files for people
//! ([`sequence`] is the format).
//! Each sequence of steps is a trial with a namespace and an API group of its own. What an answer
//! holds that no two servers have in common (uids, revisions, times) is normalised ([`normal`]);
//! what differs though it should not, or not yet, is declared in `differences.yaml`.
//!
//! `CONFORMANCE` says what is compared: by default the embedded API with the real server, `recorded`
//! with the real server's answers of an earlier run (seconds instead of minutes), `self` the real
//! server with itself (proves that the normalisation forgets enough). `CONFORMANCE_PRINT=1` shows
//! the answers, `CONFORMANCE_KUBECONFIG` names a real cluster that `tests/kubernetes/up` started.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that panics is a test that fails, and its summary is for people"
)]

mod answer;
mod comparison;
mod declared;
mod exchange;
mod fixtures;
mod ground;
mod kubectl;
mod normal;
mod recording;
mod request;
mod run;
mod select;
mod sequence;
mod stream;
mod summary;
mod variables;

#[allow(dead_code, reason = "the integration tests use more of it")]
#[path = "../integration/harness/run_folder.rs"]
mod run_folder;
#[allow(dead_code, reason = "the integration tests use more of it")]
#[path = "../integration/harness/supervisor.rs"]
mod supervisor;

use std::process::ExitCode;

use libtest_mimic::Arguments;

/// More sequences at a time than there are cores: they wait for a server most of the time.
const CONCURRENT_SEQUENCES: usize = 8;

fn main() -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(CONCURRENT_SEQUENCES);
    let conclusion = libtest_mimic::run(&arguments, run::trials());
    let complete = arguments.filter.is_none() && arguments.skip.is_empty() && !arguments.list;
    let in_order = summary::close(complete);
    run::runtime().block_on(ground::stop());
    if conclusion.has_failed() || !in_order {
        return ExitCode::FAILURE;
    }
    run_folder::remove();
    ExitCode::SUCCESS
}
