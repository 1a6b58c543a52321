//! Scenario tests: run the operator of a project on an API server in this process or on a cluster, and
//! compare the result with expectations.
//!
//! A scenario is a folder with a file per stage (`stage`): manifests to apply, expectations (`documents`,
//! `compare`), or a script (`functions`). Each scenario has a context (`context`) with its own environment
//! (`environment`), operator and time.
//!
//! Reading order: [`Suite`], `load`, `runner`, `environment`, `expectation_check`, `report`.

mod compare;
mod context;
mod documents;
mod environment;
mod expectation_check;
mod failure;
mod functions;
mod load;
mod permission_recorder;
mod report;
mod requests;
mod runner;
mod runs;
mod settings;
mod snapshot;
mod stage;

use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;

pub(crate) use self::context::TestedOperator;
pub(crate) use self::environment::Target;
pub(crate) use self::load::SuiteOptions;
pub(crate) use self::permission_recorder::PermissionRecorder;
pub(crate) use self::report::{Report, ScenarioReport};

use self::load::Scenario;
use self::runner::{SuiteContext, run};
use crate::clock::Stopwatch;
use crate::model::Diagnostic;
use crate::role::Project;

/// Deep futures of an unoptimised build fit.
const STACK: usize = 8 << 20;

/// Scenarios that are ready to be reports.
pub(crate) struct Suite {
    scenarios: Vec<Scenario>,
    context: SuiteContext,
}

impl Suite {
    /// Loads the project and the scenarios. Returns all errors at once.
    pub(crate) fn load(
        options: &SuiteOptions,
        operator: TestedOperator,
        target: Target,
    ) -> Result<Self, Vec<Diagnostic>> {
        let engine = load::engine();
        let project = Project::load(
            &operator.watches_file,
            &operator.roles_dir,
            &operator.environment,
            &operator.toolchain,
        );
        let (project, scenarios) = match (project, load::load(options, &engine)) {
            (Ok(project), Ok(scenarios)) => (project, scenarios),
            (project, scenarios) => {
                let mut diagnostics = project.err().unwrap_or_default();
                diagnostics.extend(scenarios.err().unwrap_or_default());
                return Err(diagnostics);
            }
        };
        let kinds = project.watches.iter().map(|watch| watch.gvk.clone());
        Ok(Self {
            context: SuiteContext {
                kinds: kinds.collect(),
                operator,
                target,
                engine,
            },
            scenarios,
        })
    }

    /// Runs all scenarios. Those on the embedded API run in parallel, each on its own thread.
    pub(crate) fn run(&self) -> Report {
        let since = Stopwatch::start();
        let threads = match self.context.target {
            // Scripts have threads of their own, on which the scenario's waits.
            Target::Embedded => std::thread::available_parallelism().map_or(2, usize::from) * 2,
            Target::Cluster { .. } => 1,
        };
        let next = Mutex::new(0..self.scenarios.len());
        let reports = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.scenarios.len()) {
                let work = || {
                    while let Some(index) = next_index(&next) {
                        let report = self.run_one(&self.scenarios[index]);
                        reports.lock().push((index, report));
                    }
                };
                let thread = std::thread::Builder::new().stack_size(STACK);
                if thread.spawn_scoped(scope, work).is_err() {
                    // The others do its work; without any other this thread does all.
                    break;
                }
            }
        });
        while let Some(index) = next_index(&next) {
            let report = self.run_one(&self.scenarios[index]);
            reports.lock().push((index, report));
        }
        let mut reports = reports.into_inner();
        reports.sort_by_key(|(index, _)| *index);
        Report {
            scenarios: reports.into_iter().map(|(_, report)| report).collect(),
            took: since.elapsed(),
        }
    }

    fn run_one(&self, scenario: &Scenario) -> ScenarioReport {
        let is_embedded = matches!(self.context.target, Target::Embedded);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(is_embedded)
            .build();
        let Ok(runtime) = runtime else {
            return ScenarioReport::panicked(scenario);
        };
        let running = || runtime.block_on(run(scenario, &self.context));
        let report = catch_unwind(AssertUnwindSafe(running));
        runtime.shutdown_background();
        report.unwrap_or_else(|_| ScenarioReport::panicked(scenario))
    }
}

fn next_index(next: &Mutex<std::ops::Range<usize>>) -> Option<usize> {
    next.lock().next()
}
