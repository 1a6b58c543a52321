//! Scenario tests: what an operator promises, played through on an API server in this process, or on a
//! cluster.
//!
//! A scenario is a folder with a file per stage (`stage`): manifests to apply, what is expected
//! (`documents`, `compare`), or a script (`functions`). Each has a world of its own (`world`) on a ground
//! (`ground`) with the operator as it runs in a cluster, and with its own time.
//!
//! Reading order: [`Suite`] (here), `load`, `play`, `ground`, `verify`, `report`.

mod compare;
mod documents;
mod failure;
mod functions;
mod ground;
mod load;
mod play;
mod report;
mod requests;
mod runs;
mod settings;
mod snapshot;
mod stage;
mod verify;
mod world;

use std::panic::{AssertUnwindSafe, catch_unwind};

use parking_lot::Mutex;

pub use self::failure::Failure;
pub use self::ground::Ground;
pub use self::load::Place;
pub use self::report::{Played, Report, StageReport};
pub use self::stage::Stage;
pub use self::world::Subject;

use self::load::Scenario;
use self::play::{Stagehands, play};
use crate::clock::Stopwatch;
use crate::model::Problem;
use crate::role::Project;

/// Deep futures of an unoptimised build fit.
const STACK: usize = 8 << 20;

/// Scenarios that are ready to be played.
pub struct Suite {
    scenarios: Vec<Scenario>,
    hands: Stagehands,
}

impl Suite {
    /// Loads scenarios and what they test; on failure says all that is wrong.
    pub fn load(place: &Place, subject: Subject, ground: Ground) -> Result<Self, Vec<Problem>> {
        let engine = load::engine();
        let project = Project::load(
            &subject.watches_file,
            &subject.roles_dir,
            &subject.environment,
            &subject.toolchain,
        );
        let (project, scenarios) = match (project, load::load(place, &engine)) {
            (Ok(project), Ok(scenarios)) => (project, scenarios),
            (project, scenarios) => {
                let mut problems = project.err().unwrap_or_default();
                problems.extend(scenarios.err().unwrap_or_default());
                return Err(problems);
            }
        };
        let kinds = project.watches.iter().map(|watch| watch.gvk.clone());
        Ok(Self {
            hands: Stagehands {
                kinds: kinds.collect(),
                subject,
                ground,
                engine,
            },
            scenarios,
        })
    }

    /// Plays all scenarios: those on the embedded API side by side, each on a thread of its own.
    pub fn play(&self) -> Report {
        let since = Stopwatch::start();
        let threads = match self.hands.ground {
            // Scripts have threads of their own, on which the scenario's waits.
            Ground::Embedded => std::thread::available_parallelism().map_or(2, usize::from) * 2,
            Ground::Cluster { .. } => 1,
        };
        let next = Mutex::new(0..self.scenarios.len());
        let played = Mutex::new(Vec::new());
        std::thread::scope(|scope| {
            for _ in 0..threads.min(self.scenarios.len()) {
                let work = || {
                    while let Some(index) = take(&next) {
                        let report = self.play_one(&self.scenarios[index]);
                        played.lock().push((index, report));
                    }
                };
                let thread = std::thread::Builder::new().stack_size(STACK);
                if thread.spawn_scoped(scope, work).is_err() {
                    // The others do its work; without any other this thread does all.
                    break;
                }
            }
        });
        while let Some(index) = take(&next) {
            let report = self.play_one(&self.scenarios[index]);
            played.lock().push((index, report));
        }
        let mut played = played.into_inner();
        played.sort_by_key(|(index, _)| *index);
        Report {
            scenarios: played.into_iter().map(|(_, report)| report).collect(),
            took: since.elapsed(),
        }
    }

    fn play_one(&self, scenario: &Scenario) -> Played {
        let is_embedded = matches!(self.hands.ground, Ground::Embedded);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .start_paused(is_embedded)
            .build();
        let Ok(runtime) = runtime else {
            return Played::panicked(scenario);
        };
        let played = || runtime.block_on(play(scenario, &self.hands));
        let played = catch_unwind(AssertUnwindSafe(played));
        runtime.shutdown_background();
        played.unwrap_or_else(|_| Played::panicked(scenario))
    }
}

fn take(next: &Mutex<std::ops::Range<usize>>) -> Option<usize> {
    next.lock().next()
}
