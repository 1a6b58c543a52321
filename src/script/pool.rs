//! The threads that scripts run on.
//!
//! # Guarantees
//! - At most `threads` runs at a time; the others wait in the order in which they came.
//! - Threads are made when they are needed and go when they were idle for a while.
//! - A run ends at its deadline, when it is cancelled, or when the future of [`Pool::run`] is dropped,
//!   whatever the script does: in a host call at once, else within some operations of the engine. What a
//!   host function computes without waiting is not interrupted.
//! - What a run logs is within the span that [`Pool::run`] was called in.
//! - A panic in a host function ends that run alone. While a script runs, panics of its thread are kept
//!   from the process's panic hook, which would write them to stderr: they come back as the run's error.

use std::any::Any;
use std::collections::VecDeque;
use std::sync::Arc;
use std::time::Duration;

use parking_lot::{Condvar, Mutex};
use rhai::Dynamic;
use tokio::runtime::Handle;
use tokio::sync::oneshot;
use tokio_util::sync::CancellationToken;
use tracing::Span;

use super::engine::Engine;
use super::error::{Error, ErrorKind};
use super::limits::Limits;
use super::native_step::NativeEntry;
use super::program::Program;
use super::run::{Run, Variables};
use super::{panics, worker};
use crate::clock;

/// Stack of a thread. 64 calls with deep expressions need 12 MB; a value that a method nests into itself
/// (`this = [this]`), which shows to none of our hooks, needs 450 bytes per level to be copied or
/// dropped, and takes half an hour to get 280,000 levels deep. It costs address space only: 43 KB of
/// memory are really used.
const STACK: usize = 128 << 20;

/// The time that an idle thread waits for a run before it ends.
const IDLE: Duration = Duration::from_secs(30);

/// One run to be done.
pub struct Job {
    /// The program to run.
    pub program: Arc<Program>,
    /// The native function to run in place of the program's entry.
    pub native: Option<NativeEntry>,
    /// The constants of the script.
    pub variables: Variables,
    /// The value that [`Run::state`] returns to host functions.
    pub state: Arc<dyn Any + Send + Sync>,
    /// The limits of the run.
    pub limits: Limits,
    /// Ends the run early.
    pub cancel: CancellationToken,
    /// The deadline of the run.
    pub deadline: clock::Instant,
}

/// A bounded set of threads, made as they are needed.
pub struct Pool {
    shared: Arc<PoolShared>,
}

struct PoolShared {
    engine: Engine,
    runtime: Handle,
    most: usize,
    state: Mutex<PoolState>,
    work: Condvar,
}

#[derive(Default)]
struct PoolState {
    waiting: VecDeque<Task>,
    threads: usize,
    busy: usize,
    closed: bool,
}

struct Task {
    span: Span,
    run: Arc<Run>,
    program: Arc<Program>,
    native: Option<NativeEntry>,
    variables: Variables,
    done: oneshot::Sender<Result<Dynamic, Error>>,
}

impl Pool {
    /// A pool of at most `threads`, whose host calls run on `runtime`.
    pub fn new(engine: Engine, threads: usize, runtime: Handle) -> Self {
        panics::install();
        let shared = PoolShared {
            engine,
            runtime,
            most: threads.max(1),
            state: Mutex::default(),
            work: Condvar::new(),
        };
        Self {
            shared: Arc::new(shared),
        }
    }

    /// Runs a job to its end: the value of the script's last expression. Dropping the future cancels it.
    pub async fn run(&self, job: Job) -> Result<Dynamic, Error> {
        let Job {
            program,
            native,
            variables,
            state,
            limits,
            cancel,
            deadline,
        } = job;
        let cancel = cancel.child_token();
        let _cancel_on_drop = cancel.clone().drop_guard();
        let runtime = self.shared.runtime.clone();
        let run = Arc::new(Run::new(state, runtime, limits, cancel, deadline));
        let (done, answer) = oneshot::channel();
        self.shared.clone().submit(Task {
            span: Span::current(),
            run,
            program,
            native,
            variables,
            done,
        })?;
        let lost = || {
            Error::without_trace(
                ErrorKind::Cancelled,
                "cancelled: the process is shutting down",
            )
        };
        answer.await.unwrap_or_else(|_| Err(lost()))
    }

    /// The number of threads.
    pub fn threads(&self) -> usize {
        self.shared.state.lock().threads
    }
}

impl Drop for Pool {
    fn drop(&mut self) {
        let waiting = {
            let mut state = self.shared.state.lock();
            state.closed = true;
            std::mem::take(&mut state.waiting)
        };
        drop(waiting);
        self.shared.work.notify_all();
    }
}

impl PoolShared {
    fn submit(self: Arc<Self>, task: Task) -> Result<(), Error> {
        let mut state = self.state.lock();
        state.waiting.push_back(task);
        let free = state.threads - state.busy;
        if free >= state.waiting.len() || state.threads >= self.most {
            drop(state);
            self.work.notify_one();
            return Ok(());
        }
        state.threads += 1;
        let threads = state.threads;
        drop(state);
        let worker = self.clone();
        let spawned = std::thread::Builder::new()
            .name(format!("script-{threads}"))
            .stack_size(STACK)
            .spawn(move || worker.work());
        match spawned {
            Ok(_) => Ok(()),
            Err(error) => self.without_a_thread(&error),
        }
    }

    /// A thread could not be made: those that there are will do, if there are any.
    fn without_a_thread(&self, error: &std::io::Error) -> Result<(), Error> {
        let mut state = self.state.lock();
        state.threads -= 1;
        if state.threads > 0 {
            return Ok(());
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
        let message = format!("no thread could be made for the run: {error}");
        Err(Error::without_trace(ErrorKind::Cancelled, message))
    }

    /// A thread's life.
    fn work(&self) {
        // So that host functions may spawn, and read a clock that a test holds.
        let _runtime = self.runtime.enter();
        while let Some(Task {
            span,
            run,
            program,
            native,
            variables,
            done,
        }) = self.next()
        {
            let work = || worker::run(&self.engine, &run, &program, native.as_ref(), variables);
            let answer = span.in_scope(work);
            // Before the answer: who runs one job after the other needs one thread.
            self.state.lock().busy -= 1;
            // Nobody waits any more when the future of the run was dropped.
            let _ = done.send(answer);
        }
    }

    /// The next task; none when it is time for the thread to go.
    fn next(&self) -> Option<Task> {
        let mut state = self.state.lock();
        loop {
            if let Some(task) = state.waiting.pop_front() {
                state.busy += 1;
                return Some(task);
            }
            if state.closed {
                break;
            }
            let late = self.work.wait_for(&mut state, IDLE).timed_out();
            if late && state.waiting.is_empty() {
                break;
            }
        }
        state.threads -= 1;
        None
    }
}
