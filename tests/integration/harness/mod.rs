//! What integration tests stand on.
//!
//! A test is an `async fn(Case) -> anyhow::Result<()>`, listed by [`trials!`]: once for a real
//! Kubernetes, once for the embedded API ([`Ground`]). Its [`Case`] has a namespace and an API group
//! of its own on the [`Cluster`] that all tests of its ground share; from it come users ([`User`]),
//! operators ([`Operator`], the real binary as a process) and a faulty network ([`Proxy`]). Nothing sleeps: [`eventually`] waits for a condition with a bound,
//! [`throughout`] sees that one holds for a while.

mod audit;
mod case;
mod certificate;
mod cluster;
mod crd;
mod embedded;
mod ground;
mod kubectl;
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
pub(crate) use certificate::Signer;
pub(crate) use cluster::Cluster;
pub(crate) use crd::Crd;
pub(crate) use ground::{Ground, OnEach};
pub(crate) use kubectl::Missing;
pub(crate) use operator::{Operator, acts_as_operator};
pub(crate) use project::Project;
pub(crate) use proxy::{Fault, Proxy, Rule};
pub(crate) use run_folder::target;
pub(crate) use user::User;
pub(crate) use wait::{SOON, eventually, throughout};

/// More tests at a time than there are cores: they wait for controllers most of the time.
const CONCURRENT_TESTS: usize = 6;

/// Lists tests by their functions, each for both grounds: `trials![converges, repairs_drift]`. A test
/// that only a real Kubernetes can serve says why: `a_restart: real "it stops the API server"`.
macro_rules! trials {
    ($($test:ident $(: real $reason:literal)?),* $(,)?) => {{
        let mut trials = Vec::new();
        $(
            let path = concat!(module_path!(), "::", stringify!($test));
            let reasons: &[&str] = &[$($reason)?];
            trials.extend($crate::harness::on_grounds(path, reasons, $test));
        )*
        trials
    }};
}
pub(crate) use trials;

/// The trials of one test; reasons keep it off the embedded API.
pub(crate) fn on_grounds<F>(
    path: &'static str,
    reasons: &[&str],
    test: impl Fn(Case) -> F + Copy + Send + 'static,
) -> Vec<Trial>
where
    F: Future<Output = anyhow::Result<()>> + Send + 'static,
{
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    let grounds: &[Ground] = match reasons {
        [] => &[Ground::Real, Ground::Embedded],
        _ => &[Ground::Real],
    };
    let trials = grounds.iter().map(|&ground| {
        Trial::ignorable_test(format!("{ground}::{name}"), move || {
            trial(ground, name, test)
        })
    });
    trials.collect()
}

/// Runs one test. Where something is missing it is reported as ignored with the reason; on CI it
/// fails.
fn trial<F>(ground: Ground, name: &str, test: impl FnOnce(Case) -> F) -> Result<Completion, Failed>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let missing = ground.unavailable();
    let outcome = match missing {
        Some(reason) => Err(Unable::Missing(reason.to_owned())),
        None => runtime().block_on(case::run(ground, name, test)),
    };
    match outcome {
        Ok(()) => Ok(Completion::Completed),
        Err(Unable::Missing(reason)) if std::env::var_os("CI").is_none() => {
            Ok(Completion::ignored_with(reason))
        }
        Err(Unable::Missing(reason) | Unable::Failed(reason)) => Err(Failed::from(reason)),
    }
}

/// Why a test did not succeed.
enum Unable {
    /// It needs something that is not there.
    Missing(String),
    Failed(String),
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
