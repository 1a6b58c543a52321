//! Trials, and the `main` function of a test binary.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::process::ExitCode;
use std::sync::OnceLock;

use futures::FutureExt;
use libtest_mimic::{Arguments, Completion, Failed, Trial};
use tokio::runtime::Runtime;

use crate::{Case, Cluster, Environment, MissingTool, operator, run_folder};

/// Tests wait for controllers most of the time, so more of them run at a time than there are cores.
const CONCURRENT_TESTS: usize = 6;

/// The stack of a test's own thread.
const STACK: usize = 16 << 20;

/// Lists tests by their functions, each for both environments: `trials![converges, repairs_drift]`. A
/// test for one environment names it with the reason: `a_restart: real "it stops the API server"`.
#[macro_export]
macro_rules! trials {
    ($($test:ident $(: $environment:ident $reason:literal)?),* $(,)?) => {{
        let mut trials = Vec::new();
        $(
            let path = concat!(module_path!(), "::", stringify!($test));
            let only: &[(&str, &str)] = &[$((stringify!($environment), $reason))?];
            trials.extend($crate::suite::trials(path, only, $test));
        )*
        trials
    }};
}

/// Returns the trials of one test, which can name its only environment with the reason.
pub fn trials<F>(
    path: &'static str,
    only: &[(&str, &str)],
    test: impl Fn(Case) -> F + Copy + Send + 'static,
) -> Vec<Trial>
where
    F: Future<Output = anyhow::Result<()>> + 'static,
{
    let name = path.split_once("::").map_or(path, |(_, name)| name);
    let environments = [Environment::Real, Environment::Embedded].into_iter();
    let is_served = |environment: &Environment| {
        let name = environment.to_string();
        only.is_empty() || only.iter().any(|(only, _)| **only == name)
    };
    let trials = environments.filter(is_served).map(|environment| {
        Trial::ignorable_test(format!("{environment}::{name}"), move || {
            run_trial(environment, name, test)
        })
    });
    trials.collect()
}

/// Runs one test. If the machine lacks a tool, the test is ignored with the reason; on CI it fails.
fn run_trial<F>(
    environment: Environment,
    name: &str,
    test: impl FnOnce(Case) -> F + Send,
) -> Result<Completion, Failed>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let outcome = match environment.unavailable() {
        Some(reason) => Err(TrialError::Missing(reason.to_owned())),
        None => on_large_stack(|| runtime().block_on(run(environment, name, test))),
    };
    match outcome {
        Ok(()) => Ok(Completion::Completed),
        Err(TrialError::Missing(reason)) if std::env::var_os("CI").is_none() => {
            Ok(Completion::ignored_with(reason))
        }
        Err(TrialError::Missing(reason) | TrialError::Failed(reason)) => Err(Failed::from(reason)),
    }
}

/// Runs work on a thread whose stack is large enough for values that are nested thousands of levels deep.
fn on_large_stack<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(STACK);
        let thread = thread.spawn_scoped(scope, work).expect("a thread");
        thread
            .join()
            .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

/// Runs a test. A failure shows the last lines that its operators logged.
async fn run<F>(
    environment: Environment,
    name: &str,
    test: impl FnOnce(Case) -> F,
) -> Result<(), TrialError>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let case = Case::create(environment, name)
        .await
        .map_err(|error| TrialError::Failed(format!("{error:#}")))?;
    let outcome = AssertUnwindSafe(test(case.clone())).catch_unwind().await;
    let failure = match outcome {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(match error.chain().find_map(|cause| cause.downcast_ref()) {
            Some(MissingTool(what)) => TrialError::Missing(what.clone()),
            None => TrialError::Failed(format!("{error:#}\n{}", case.logs())),
        }),
        Err(panic) => {
            let message = message(panic.as_ref());
            Some(TrialError::Failed(format!("{message}\n{}", case.logs())))
        }
    };
    case.end().await;
    failure.map_or(Ok(()), Err)
}

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "panicked: {}",
        text.unwrap_or("with a value that is not a text")
    )
}

/// The reason for which a test did not succeed.
enum TrialError {
    /// The machine lacks a tool.
    Missing(String),
    /// The test failed with this message.
    Failed(String),
}

/// A test binary.
pub struct Suite(());

impl Suite {
    /// A suite whose operators are processes of this program: `env!("CARGO_BIN_EXE_rhai-operator")`.
    pub fn new(program: &'static str) -> Self {
        operator::set_program(program);
        Self(())
    }

    /// Runs the trials that the command line selects, and ends all processes that they started.
    pub fn run(self, themes: impl IntoIterator<Item = Vec<Trial>>) -> ExitCode {
        let mut arguments = Arguments::from_args();
        arguments.test_threads.get_or_insert(CONCURRENT_TESTS);
        let conclusion = libtest_mimic::run(&arguments, themes.into_iter().flatten().collect());
        runtime().block_on(Cluster::stop_shared());
        if !conclusion.has_failed() {
            run_folder::remove();
        }
        conclusion.exit_code()
    }
}

/// Returns the runtime that all tests share: clients outlive the test that made them.
fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime for the tests"))
}
