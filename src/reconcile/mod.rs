//! Executes one run of a role for a custom resource, and returns a [`Report`].
//!
//! The operator, `role run` and tests call the same [`reconcile`]. A run stores no state outside the
//! cluster, except [`History`], which saves requests and can be lost.
//!
//! Reading order: [`Context`], [`Input`] and [`Report`], `run` (the order of the phases), then the phases:
//! `finalizer`, `constants` (the constants of the script), `execute` (the script), `outcome_mapping` (its
//! result), `prune`, `finish` with `steps`, `conditions`, `status` and `events`.

mod change;
mod conditions;
mod constants;
mod context;
mod events;
mod execute;
mod finalizer;
mod finish;
mod input;
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

use tracing::{Instrument, Span};

pub use self::change::ObjectChange;
pub use self::context::Context;
pub use self::events::Recorder;
pub use self::input::{Input, Mode};
pub use self::report::{History, Report};
use self::run::Run;
pub use self::status_ownership::digest as status_digest;
pub use self::warn_once::WarnOnce;
use crate::cluster;
pub use crate::host::session::TracedCall;
use crate::model::redact::PublicText;
use crate::model::{Object, Outcome};
pub use crate::pipeline::{StepReport, StepSelection, StepState};
use crate::telemetry::log;

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
