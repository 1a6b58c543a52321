//! What integration tests stand on.
//!
//! A test is an `async fn(Case) -> anyhow::Result<()>`, listed by [`trials!`]. Its [`Case`] has a
//! namespace and an API group of its own on the [`Cluster`] that all tests of this binary share;
//! from it come users ([`User`]), operators ([`Operator`], the real binary as a process) and a
//! faulty network ([`Proxy`]). Nothing sleeps: [`eventually`] waits for a condition with a bound,
//! [`throughout`] sees that one holds for a while.

mod audit;
mod case;
mod cluster;
mod crd;
mod operator;
mod project;
mod proxy;
mod run_folder;
mod supervisor;
mod user;
mod wait;

use std::future::Future;
use std::process::ExitCode;
use std::sync::OnceLock;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::runtime::Runtime;

pub(crate) use audit::{Mark, Request, Requests, Target};
pub(crate) use case::Case;
pub(crate) use cluster::Cluster;
pub(crate) use crd::Crd;
pub(crate) use operator::{Operator, acts_as_operator};
pub(crate) use project::Project;
pub(crate) use proxy::{Fault, Proxy, Rule};
pub(crate) use user::User;
pub(crate) use wait::{eventually, throughout};

/// More tests at a time than there are cores: they wait for controllers most of the time.
const CONCURRENT_TESTS: usize = 6;

/// Lists tests by their functions: `trials![converges, repairs_drift]`.
macro_rules! trials {
    ($($test:ident),* $(,)?) => {
        vec![$($crate::harness::trial(concat!(module_path!(), "::", stringify!($test)), $test)),*]
    };
}
pub(crate) use trials;

/// One test. Without Kubernetes it is reported as ignored with the reason; on CI it fails.
pub(crate) fn trial<F>(path: &'static str, test: impl FnOnce(Case) -> F + Send + 'static) -> Trial
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    Trial::ignorable_test(name, move || match supervisor::unavailable() {
        Some(reason) if std::env::var_os("CI").is_some() => Err(Failed::from(reason)),
        Some(reason) => Ok(Completion::ignored_with(reason)),
        None => runtime()
            .block_on(case::run(name, test))
            .map(|()| Completion::Completed)
            .map_err(Failed::from),
    })
}

/// Runs the tests that the command line asks for; afterwards no process of ours is left.
pub(crate) fn main(themes: impl IntoIterator<Item = Vec<Trial>>) -> ExitCode {
    let mut arguments = Arguments::from_args();
    arguments.test_threads.get_or_insert(CONCURRENT_TESTS);
    let conclusion = libtest_mimic::run(&arguments, themes.into_iter().flatten().collect());
    runtime().block_on(Cluster::stop_shared());
    if !conclusion.has_failed() {
        run_folder::remove();
    }
    conclusion.exit_code()
}

/// Clients outlive the test that made them, so that all tests share one runtime.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime for the tests"))
}
