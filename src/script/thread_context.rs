//! The run of the current thread, and the engine's hooks that check its limits.
//!
//! A run stays on one thread, so that the state that the hooks need at every operation is in
//! thread-locals. This module counts operations, because the engine restarts its own count in closures
//! that native functions call.
//!
//! A run is stopped in two steps. First, the next read of a variable or the current host function fails
//! with an ordinary error, to which the engine adds the call chain. If the script catches it, or if a loop
//! reads no variable, one of the next operations terminates the script.

use std::cell::{Cell, RefCell};
use std::sync::Arc;

use allocation_meter::Measurement;
use rhai::{
    Dynamic, Engine, EvalAltResult, EvalContext, Map, Module, NativeCallContext, Position, Shared,
};

use super::call_site::CallSite;
use super::engine::Engine as Shell;
use super::host_error::HostError;
use super::limits::{Limit, MAX_INCLUDES};
use super::nesting;
use super::program::Program;
use super::run::{Run, StopReason, Variables};

/// The number of operations between two checks of the deadline and of cancellation: about 10 µs.
const STRIDE: u64 = 256;

/// The number of operations that a stopped run may execute until it reads a variable: enough for any
/// expression.
const GRACE: u64 = 64;

/// The bytes that a run may allocate between these two steps, if it exceeded its memory: the largest text.
const GRACE_BYTES: isize = 16 << 20;

#[derive(Clone, Copy, PartialEq, Eq)]
enum Phase {
    /// The run continues.
    Running,
    /// The next variable that is read raises the error that stops the run.
    Stopping,
    /// The error was raised. The next operation terminates the script.
    Stopped,
}

thread_local! {
    static OPERATIONS: Cell<u64> = const { Cell::new(0) };
    static NEXT_LOOK: Cell<u64> = const { Cell::new(u64::MAX) };
    static PHASE: Cell<Phase> = const { Cell::new(Phase::Running) };
    /// The limit of the thread's allocated bytes.
    static MEMORY_END: Cell<isize> = const { Cell::new(isize::MAX) };
    static CURRENT: RefCell<Option<ThreadContext>> = const { RefCell::new(None) };
}

struct ThreadContext {
    run: Arc<Run>,
    engine: Shell,
    /// The stack of programs: the job's, and the included ones.
    frames: Vec<ProgramFrame>,
    /// Every program that ran, for the source lines of errors.
    seen: Vec<Arc<Program>>,
}

struct ProgramFrame {
    program: Arc<Program>,
    variables: Vec<(&'static str, SharedVariable)>,
    modules: Vec<(String, Shared<Module>)>,
    nesting: nesting::NestingCheck,
}

/// A variable as a shared value. A script that reads one field of a large map copies only that field.
///
/// A method locks a shared value while its closure runs, so that a function that the closure calls cannot
/// read the same shared value. Each level of calls therefore has its own copy. A variable that closures
/// capture (`spec.ports.filter(|p| p.number > spec.least)`) is copied at each read.
struct SharedVariable {
    original: Dynamic,
    captured: bool,
    shared: Vec<Option<Dynamic>>,
}

/// The tag that marks captured variables of the run among captured values.
const CAPTURED: i32 = -1;

impl SharedVariable {
    fn new(program: &Program, name: &str, original: Dynamic) -> Self {
        Self {
            original,
            captured: program.captured.contains(name),
            shared: Vec::new(),
        }
    }

    /// Sets or removes a key of a map. Also changes the copy of the outermost level, so that a map that grows
    /// is not copied each time.
    fn put(&mut self, key: &str, value: Option<Dynamic>) -> Option<Dynamic> {
        self.shared.truncate(1);
        let copy = self.shared.first_mut().and_then(Option::as_mut);
        if let Some(mut map) = copy.and_then(Dynamic::write_lock::<Map>) {
            change(&mut map, key, value.clone());
        } else {
            self.shared.clear();
        }
        let mut map = self.original.write_lock::<Map>()?;
        change(&mut map, key, value)
    }

    fn get(&mut self, level: usize) -> Dynamic {
        if !(self.original.is_map() || self.original.is_array()) {
            return self.original.clone();
        }
        let copy = || self.original.clone().into_read_only().into_shared();
        if self.captured {
            let mut copy = copy();
            copy.set_tag(CAPTURED);
            return copy;
        }
        if self.shared.len() <= level {
            self.shared.resize(level + 1, None);
        }
        self.shared[level].get_or_insert_with(copy).clone()
    }
}

fn change(map: &mut Map, key: &str, value: Option<Dynamic>) -> Option<Dynamic> {
    match value {
        Some(value) => map.insert(key.into(), value),
        None => map.remove(key),
    }
}

impl ProgramFrame {
    fn new(program: Arc<Program>, variables: Variables) -> Self {
        let variables = variables
            .into_iter()
            .map(|(name, original)| (name, SharedVariable::new(&program, name, original)))
            .collect();
        Self {
            program,
            variables,
            modules: Vec::new(),
            nesting: nesting::NestingCheck::default(),
        }
    }
}

impl ProgramFrame {
    fn serve(&mut self, name: &str, level: usize) -> Option<Dynamic> {
        let served = self.variables.iter_mut().find(|(known, _)| *known == name);
        served.map(|(_, served)| served.get(level))
    }
}

/// A guard that ends the run on this thread when it is dropped.
pub(super) struct ThreadGuard {
    /// Counts the bytes that the run allocates.
    _memory: Measurement,
    _check: checkpoint::Installed,
}

/// Begins a run on this thread.
pub(super) fn enter(
    engine: &Shell,
    run: Arc<Run>,
    program: Arc<Program>,
    variables: Variables,
) -> ThreadGuard {
    OPERATIONS.set(0);
    NEXT_LOOK.set(0);
    PHASE.set(Phase::Running);
    let memory = Measurement::start();
    let limit = isize::try_from(run.limits.memory).unwrap_or(isize::MAX);
    MEMORY_END.set(allocation_meter::live().saturating_add(limit));
    let seen = vec![program.clone()];
    let frames = vec![ProgramFrame::new(program, variables)];
    CURRENT.set(Some(ThreadContext {
        run,
        engine: engine.clone(),
        frames,
        seen,
    }));
    ThreadGuard {
        _memory: memory,
        _check: checkpoint::install(may_continue),
    }
}

impl Drop for ThreadGuard {
    fn drop(&mut self) {
        MEMORY_END.set(isize::MAX);
        // `take` ends the borrow of the cell before the script's values are dropped.
        let current = CURRENT.take();
        drop(current);
    }
}

/// Returns the run of this thread.
pub(super) fn run() -> Option<Arc<Run>> {
    with(|current| current.run.clone())
}

/// Returns the engine of the run of this thread.
pub(super) fn engine() -> Option<Shell> {
    with(|current| current.engine.clone())
}

/// Returns the programs that ran within the run of this thread.
pub(super) fn programs() -> Vec<Arc<Program>> {
    with(|current| current.seen.clone()).unwrap_or_default()
}

/// Returns the current program.
pub(super) fn program() -> Option<Arc<Program>> {
    with(|current| Some(current.frames.last()?.program.clone())).flatten()
}

/// Returns a module that this run has evaluated already.
pub(super) fn module(path: &str) -> Option<Shared<Module>> {
    with(|current| {
        let modules = &current.frames.last()?.modules;
        modules
            .iter()
            .find(|(known, _)| known == path)
            .map(|(_, module)| module.clone())
    })
    .flatten()
}

/// Stores an evaluated module for the rest of the run.
pub(super) fn keep_module(path: &str, module: &Shared<Module>) {
    with(|current| {
        if let Some(frame) = current.frames.last_mut() {
            frame.modules.push((path.to_owned(), module.clone()));
        }
    });
}

/// Sets a variable of the current program.
pub(super) fn set_variable(name: &'static str, value: Dynamic) {
    let before = with(|current| {
        let frame = current.frames.last_mut()?;
        let served = SharedVariable::new(&frame.program, name, value);
        let mut variables = frame.variables.iter_mut();
        if let Some((_, before)) = variables.find(|(known, _)| *known == name) {
            return Some(std::mem::replace(before, served));
        }
        frame.variables.push((name, served));
        None
    });
    // After `with`, which borrows the cell.
    drop(before);
}

/// Sets or removes a key of a variable of the current program. Returns the former value.
pub(super) fn put_variable(name: &str, key: &str, value: Option<Dynamic>) -> Option<Dynamic> {
    with(|current| {
        let mut variables = current.frames.last_mut()?.variables.iter_mut();
        let (_, served) = variables.find(|(known, _)| *known == name)?;
        served.put(key, value)
    })
    .flatten()
}

/// Returns a variable of the current program.
pub(super) fn variable(name: &str) -> Option<Dynamic> {
    with(|current| {
        let mut variables = current.frames.last()?.variables.iter();
        let (_, served) = variables.find(|(known, _)| *known == name)?;
        Some(served.original.clone())
    })
    .flatten()
}

/// Runs `body` with another program's variables and modules. Returns `None` if programs are nested too
/// deeply.
pub(super) fn with_program<T>(
    program: &Arc<Program>,
    variables: Variables,
    body: impl FnOnce() -> T,
) -> Option<T> {
    struct PopFrame;
    impl Drop for PopFrame {
        fn drop(&mut self) {
            let frame = with(|current| current.frames.pop());
            drop(frame);
        }
    }
    let fits = with(|current| {
        let fits = current.frames.len() <= MAX_INCLUDES;
        if fits {
            current
                .frames
                .push(ProgramFrame::new(program.clone(), variables));
            if !current.seen.iter().any(|seen| Arc::ptr_eq(seen, program)) {
                current.seen.push(program.clone());
            }
        }
        fits
    })?;
    fits.then(|| {
        let _leave = PopFrame;
        body()
    })
}

/// Continues the run after a step ended.
pub(super) fn resume() {
    PHASE.set(Phase::Running);
    NEXT_LOOK.set(0);
}

/// Terminates the script at its next operation.
pub(super) fn halt() {
    PHASE.set(Phase::Stopped);
    NEXT_LOOK.set(0);
}

fn with<T>(look: impl FnOnce(&mut ThreadContext) -> T) -> Option<T> {
    CURRENT.with_borrow_mut(|current| current.as_mut().map(look))
}

/// Sets the hooks of an engine.
pub(super) fn hook(engine: &mut Engine) {
    engine.on_progress(|_| on_operation());
    #[expect(deprecated, reason = "not deprecated but marked as free to change")]
    engine.on_var(|name, index, context| on_variable(name, index, &context));
}

fn on_operation() -> Option<Dynamic> {
    let operations = OPERATIONS.get() + 1;
    OPERATIONS.set(operations);
    if operations < NEXT_LOOK.get() && !is_memory_exceeded() {
        return None;
    }
    check_bounds(operations)
}

#[cold]
fn check_bounds(operations: u64) -> Option<Dynamic> {
    if PHASE.get() != Phase::Running {
        return Some(Dynamic::UNIT);
    }
    let run = run()?;
    let limit = run.limits.operations;
    let why = if operations > limit {
        Some(StopReason::Limit(Limit::Operations))
    } else {
        interruption(&run)
    };
    if let Some(why) = why {
        run.mark_stopped(why, None);
        PHASE.set(Phase::Stopping);
        NEXT_LOOK.set(operations + GRACE);
        MEMORY_END.set(allocation_meter::peak().saturating_add(GRACE_BYTES));
    } else {
        NEXT_LOOK.set((operations + STRIDE).min(limit + 1));
    }
    None
}

/// Returns whether the run has exceeded its memory at any time, including during native calls.
pub(super) fn is_memory_exceeded() -> bool {
    allocation_meter::peak() > MEMORY_END.get()
}

/// Returns whether the run of this thread may continue. Stops the run if not.
fn may_continue() -> bool {
    let Some(run) = run() else {
        return true;
    };
    if run.stopped().is_some() {
        return false;
    }
    match interruption(&run) {
        Some(why) => {
            let _over = run.stop(why, run.last_call());
            false
        }
        None => true,
    }
}

/// Returns the reason that the run of this thread must end now, if there is one.
fn interruption(run: &Run) -> Option<StopReason> {
    if is_memory_exceeded() {
        return Some(StopReason::Limit(Limit::Memory));
    }
    run.interrupted()
}

/// Returns the run's variables to the script, and checks the depth of calls and of local variables, which
/// only this hook can see.
fn on_variable(
    name: &str,
    index: usize,
    context: &EvalContext,
) -> Result<Option<Dynamic>, Box<EvalAltResult>> {
    if PHASE.get() == Phase::Stopping {
        halt();
        return Err(stop_error());
    }
    let level = context.global_runtime_state().level;
    with(|current| {
        if level > current.run.limits.depth {
            return Err(current.run.stop(StopReason::Limit(Limit::Depth), None));
        }
        let Some(frame) = current.frames.last_mut() else {
            return Ok(None);
        };
        let local = index
            .checked_sub(1)
            .and_then(|nth| context.scope().iter_raw().nth(nth));
        let Some((.., local)) = local else {
            return Ok(frame.serve(name, level));
        };
        if local.is_shared() && local.tag() == CAPTURED {
            return Ok(frame.serve(name, level));
        }
        let exceeded = (frame.nesting).is_exceeded(local, context.scope(), OPERATIONS.get());
        if exceeded {
            return Err(current.run.stop(StopReason::Limit(Limit::Nesting), None));
        }
        Ok(None)
    })
    .unwrap_or(Ok(None))
}

/// Returns the error that stops the script. Reports show the reason of [`Run::stopped`] instead.
pub(super) fn stop_error() -> Box<EvalAltResult> {
    Box::new(EvalAltResult::ErrorRuntime(
        "the run is over".into(),
        Position::NONE,
    ))
}

/// Converts to the error of a host function that does not wait.
impl From<HostError> for Box<EvalAltResult> {
    fn from(error: HostError) -> Self {
        let value = match run() {
            Some(run) => run.fail(error),
            None => error.to_map(),
        };
        Self::new(EvalAltResult::ErrorRuntime(value, Position::NONE))
    }
}

impl Run {
    /// Returns the run of a call. Fails if the engine is used without a [`super::Pool`].
    pub fn from_call(cx: &NativeCallContext) -> Result<Arc<Self>, Box<EvalAltResult>> {
        let run = run().ok_or("host functions need a run")?;
        *run.last_call.lock() = Some(CallSite::from_call(cx));
        Ok(run)
    }

    /// Ends the run: the engine stops at its next operation. The caller returns the error, so that the engine
    /// adds the call chain to it.
    pub(super) fn stop(&self, why: StopReason, place: Option<CallSite>) -> Box<EvalAltResult> {
        self.mark_stopped(why, place);
        halt();
        stop_error()
    }
}
