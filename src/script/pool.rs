//! The threads that scripts run on.
//!
//! # Guarantees
//! - At most `threads` runs execute at a time. The others wait in order of arrival.
//! - The pool starts threads on demand. A thread that is idle for [`IDLE`] ends.
//! - A run ends at its deadline, when it is cancelled, or when the future of [`Pool::run`] is dropped. A
//!   host call that waits ends at once, a script after some operations of the engine, and native code at
//!   its next checkpoint.
//! - Log lines of a run are within the span of the caller of [`Pool::run`].
//! - A panic in a host function ends only its run, with the panic's message in the error and not on stderr.

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

/// The stack size of a thread.
///
/// 64 calls with deep expressions need 12 MB. A value that a method nests into itself (`this = [this]`)
/// passes no hook of the engine and needs 450 bytes of stack per level; a script needs half an hour to
/// reach the 280,000 levels that fill this stack. The size costs only address space: a thread uses about
/// 43 KB of memory.
const STACK: usize = 128 << 20;

/// The time that an idle thread waits for a run before it ends.
const IDLE: Duration = Duration::from_secs(30);

/// A run to execute.
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

/// A limited set of threads, started on demand.
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
    /// Creates a pool of at most `threads`. Host calls run on `runtime`.
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

    /// Executes a job, and returns the value of the script's last expression. Dropping the future cancels the
    /// run.
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

    /// Returns the number of threads.
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

    /// Fails if a thread cannot be started and no other thread exists to run the job later.
    fn without_a_thread(&self, error: &std::io::Error) -> Result<(), Error> {
        let mut state = self.state.lock();
        state.threads -= 1;
        if state.threads > 0 {
            return Ok(());
        }
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
        let message = format!("cannot start a thread for the run: {error}");
        Err(Error::without_trace(ErrorKind::Cancelled, message))
    }

    /// Executes tasks on a thread until it has been idle for [`IDLE`].
    fn work(&self) {
        // Host functions can then spawn tasks, and use the clock of a test.
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
            // Before the send, so that a caller that runs one job after the other needs only one thread.
            self.state.lock().busy -= 1;
            // The send fails if the future of the run was dropped.
            let _ = done.send(answer);
        }
    }

    /// Waits for the next task. Returns `None` if the thread must end.
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
