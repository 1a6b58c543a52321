//! The threads that scripts run on.

use std::any::Any;
use std::sync::Arc;

use rhai::Dynamic;
use tokio::runtime::Handle;
use tokio_util::sync::CancellationToken;

use super::engine::Engine;
use super::error::Error;
use super::limits::Limits;
use super::program::Program;
use super::run::Variables;
use crate::clock;

/// One run to be done.
pub struct Job {
    /// What to run.
    pub program: Arc<Program>,
    /// What the script sees as constants.
    pub variables: Variables,
    /// What host functions get by [`super::Run::state`].
    pub state: Arc<dyn Any + Send + Sync>,
    /// What it may use up.
    pub limits: Limits,
    /// Ends the run early.
    pub cancel: CancellationToken,
    /// When it must be done.
    pub deadline: clock::Instant,
}

/// A bounded set of threads, made as they are needed.
pub struct Pool {
    _engine: Engine,
    _threads: usize,
    _runtime: Handle,
}

impl Pool {
    /// A pool of at most `threads`, whose host calls run on `runtime`.
    pub fn new(engine: Engine, threads: usize, runtime: Handle) -> Self {
        Self {
            _engine: engine,
            _threads: threads,
            _runtime: runtime,
        }
    }

    /// Runs a job to its end: the value of the script's last expression.
    #[expect(clippy::unused_async, reason = "the run is awaited")]
    pub async fn run(&self, _job: Job) -> Result<Dynamic, Error> {
        Ok(Dynamic::UNIT)
    }
}
