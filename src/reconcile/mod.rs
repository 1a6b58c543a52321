//! One run: a custom resource, a role and a cluster in, a [`Report`] out.
//!
//! The operator, `role run` and tests call the same [`reconcile`]. Nothing about a run is remembered
//! outside the cluster but [`History`], which saves requests and repetitions and may be lost.
//!
//! Reading order: [`Input`] and [`Report`] (here and in `report`), `run` (the order of the phases), then
//! the phases: `finalizer`, `inputs` (what the script sees), `execute` (the script), `ending` (what its
//! end means), `prune`, `close` with `steps`, `conditions`, `status` and `events`.

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

/// What all runs of a process share.
#[derive(Clone)]
pub struct Context {
    /// The door to the cluster; the runtime's own writes pass it unfenced.
    pub cluster: Cluster,
    /// What earlier runs left in memory about what they applied.
    pub apply_cache: ApplyCache,
    /// Whether children of all kinds were looked for.
    pub child_kinds: ChildKindDiscovery,
    /// The threads that scripts run on.
    pub pool: Arc<Pool>,
    /// What one script may use up.
    pub limits: Limits,
    /// Environment variables that the operator opens to roles.
    pub allow_env: Vec<String>,
    /// Which steps of a pipeline are done.
    pub selection: StepSelection,
    /// Who is named on what gets finalizers; nobody where this process adds none.
    pub holder: Option<OperatorId>,
    /// Where Events go.
    pub events: Recorder,
    /// Warnings that were given once.
    pub warned: WarnOnce,
    /// The wall clock.
    pub clock: Clock,
}

/// One run to be done.
#[derive(Clone)]
pub struct Input {
    /// The custom resource as last seen.
    pub cr: Arc<Object>,
    /// How objects of its kind are reconciled.
    pub watch: Arc<Watch>,
    /// The roles of the project.
    pub roles: Arc<Roles>,
    /// Why the run happens.
    pub reason: Reason,
    /// What for.
    pub mode: Mode,
    /// Ends the run early: a newer generation, shutdown.
    pub cancel: CancellationToken,
    /// What the last report left; empty for the first run.
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

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The operator's: finalizers are added, Events sent.
    Operator,
    /// A person's: host calls and changes are noted; finalizers are never added.
    Once,
    /// As [`Mode::Once`], with writes as dry-runs and no Events.
    Plan,
}

impl Context {
    /// What runs share, with default limits; its Events are sent from a task on the current runtime.
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
/// 1. A held custom resource (`rhai.operator/paused`) is told so in its status, and that is all.
/// 2. The watch's finalizer is put on it. A custom resource that is being deleted goes another way: the
///    finalizer's program, the children that garbage collection does not reach, the finalizers.
/// 3. The script runs, within the watch's timeout.
/// 4. After a run that completed and in which every apply succeeded, what the role no longer applies is
///    deleted.
/// 5. Status and Events say how it went.
///
/// # Guarantees
/// - Whatever happens, a report comes: errors are outcomes.
/// - The status is written at most once, and only if it changes.
/// - Killed at any point and run again, the outcome is that of an undisturbed run.
/// - No value of a Secret that the run saw is in a status, an Event, a log line or the report, unless
///   the role revealed it.
///
/// # Assumptions
/// One run at a time per custom resource.
pub async fn reconcile(context: &Context, input: Input) -> Report {
    let span = span(&input);
    Run::new(context, &input).execute().instrument(span).await
}

/// Writes an outcome that no script came to, e.g. that of the loop detector, into the status and an
/// Event, without a run.
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

/// Takes our finalizers off a custom resource that is no longer ours to serve: it left the selector,
/// or its watch is gone.
pub async fn release(context: &Context, cr: &Arc<Object>) -> Result<(), cluster::Error> {
    finalizer::release(context, cr).await
}
