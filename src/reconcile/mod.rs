//! Executes one run of a role for a custom resource, and returns a [`Report`].
//!
//! The operator, `role run` and tests call the same [`reconcile`]. A run stores no state outside the
//! cluster, except [`History`], which saves requests and can be lost.
//!
//! Reading order: [`Input`] and [`Report`], `run` (the order of the phases), then the phases:
//! `finalizer`, `inputs` (the constants of the script), `execute` (the script), `outcome_mapping` (its
//! result), `prune`, `finish` with `steps`, `conditions`, `status` and `events`.

mod change;
mod conditions;
mod events;
mod execute;
mod finalizer;
mod finish;
mod inputs;
mod merge_patch;
mod outcome_mapping;
mod prune;
mod report;
mod run;
mod status;
mod status_ownership;
mod steps;
mod warn_once;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

pub use self::change::ObjectChange;
pub use self::events::Recorder;
pub use self::report::{History, Report};
use self::run::Run;
pub use self::status_ownership::digest as status_digest;
pub use self::warn_once::WarnOnce;
use crate::apply::ApplyCache;
use crate::apply::inventory::ChildKindDiscovery;
use crate::clock::Clock;
use crate::cluster::{self, Cluster};
pub use crate::host::session::Call;
use crate::model::redact::PublicText;
use crate::model::{Object, OperatorId, Outcome, Reason};
pub use crate::pipeline::{StepReport, StepSelection, StepState};
use crate::role::Roles;
use crate::script::{Limits, Pool};
use crate::telemetry::log;
use crate::watches::Watch;

/// The state that all runs of a process share.
#[derive(Clone)]
pub struct Context {
    /// The cluster, without a fence, for the runtime's own writes.
    pub cluster: Cluster,
    /// The results of earlier applies.
    pub apply_cache: ApplyCache,
    /// The discovery of the kinds of which children exist.
    pub child_kinds: ChildKindDiscovery,
    /// The threads that execute scripts.
    pub pool: Arc<Pool>,
    /// The limits of a script.
    pub limits: Limits,
    /// Environment variables that roles may read.
    pub allow_env: Vec<String>,
    /// The steps of pipelines that are executed.
    pub selection: StepSelection,
    /// The operator that the label of a custom resource with finalizers names; `None` if this
    /// process adds none.
    pub holder: Option<OperatorId>,
    /// The sender of Events.
    pub events: Recorder,
    /// The warnings that were already logged.
    pub warned: WarnOnce,
    /// The wall clock.
    pub clock: Clock,
}

/// The input of a run.
#[derive(Clone)]
pub struct Input {
    /// The last known custom resource.
    pub cr: Arc<Object>,
    /// The watch that selects the custom resource.
    pub watch: Arc<Watch>,
    /// The roles of the project.
    pub roles: Arc<Roles>,
    /// The reason of the run.
    pub reason: Reason,
    /// The mode of the run.
    pub mode: Mode,
    /// Cancels the run, for a newer generation or at shutdown.
    pub cancel: CancellationToken,
    /// The history of the last report; empty for the first run.
    pub history: Arc<History>,
}

impl Input {
    /// Returns the first run of the operator for a new custom resource.
    pub fn new(cr: Arc<Object>, watch: &Arc<Watch>, roles: &Arc<Roles>) -> Self {
        Self {
            cr,
            watch: Arc::clone(watch),
            roles: Arc::clone(roles),
            reason: Reason::Created,
            mode: Mode::Operator,
            cancel: CancellationToken::new(),
            history: Arc::default(),
        }
    }
}

/// The mode of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A run of the operator: it adds finalizers and sends Events.
    Operator,
    /// A run of the command line: it records host calls and changes, and never adds finalizers.
    Once,
    /// As [`Mode::Once`], with dry-run writes and without Events.
    Plan,
}

impl Context {
    /// Creates a context with default limits. A task on the current runtime sends its Events.
    pub fn new(cluster: Cluster, pool: Arc<Pool>, clock: Clock) -> Self {
        Self {
            events: Recorder::spawn(cluster.clone(), clock.clone()),
            cluster,
            apply_cache: ApplyCache::default(),
            child_kinds: ChildKindDiscovery::default(),
            pool,
            limits: Limits::default(),
            allow_env: Vec::new(),
            selection: StepSelection::default(),
            holder: None,
            warned: WarnOnce::default(),
            clock,
        }
    }
}

/// Runs a role for a custom resource.
///
/// # Flow
/// 1. For a paused custom resource (`rhai.operator/paused`), only the status is written.
/// 2. The custom resource gets the watch's finalizer. For a custom resource that is being deleted, the
///    run executes the program of the finalizer, deletes the children that garbage collection cannot
///    reach, and releases the finalizers instead.
/// 3. The script runs, within the watch's timeout.
/// 4. If the run completed and each apply succeeded, children that the role no longer applies are
///    deleted.
/// 5. Status and Events report the outcome.
///
/// # Guarantees
/// - A run always returns a report: errors are outcomes.
/// - The status is written at most once, and only if it changes.
/// - A run that is killed at any point and repeated has the outcome of an undisturbed run.
/// - No status, Event, log line or report contains a value of a Secret that the run read, unless the
///   role revealed it.
///
/// # Assumptions
/// At most one run per custom resource executes at a time.
pub async fn reconcile(context: &Context, input: Input) -> Report {
    let span = span(&input);
    Run::new(context, &input).execute().instrument(span).await
}

/// Writes an outcome that no script returned, such as a write conflict, to the status and an Event.
pub async fn record_outcome(context: &Context, input: Input, outcome: Outcome) -> Report {
    let span = span(&input);
    Run::new(context, &input)
        .finish(outcome.into())
        .instrument(span)
        .await
}

fn span(input: &Input) -> Span {
    log::span!(
        "reconcile",
        "object.ref" = input.cr.object_ref(),
        "object.reason" = input.reason,
        role = PublicText::outside_runs(&input.watch.role),
    )
}

/// Releases our finalizers of a custom resource that no watch selects any more.
pub async fn release(context: &Context, cr: &Arc<Object>) -> Result<(), cluster::Error> {
    finalizer::release(context, cr).await
}
