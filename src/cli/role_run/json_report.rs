//! The report of a run as one JSON document, which always has the same keys.

use serde_json::{Value, json};

use super::steps;
use crate::model::{ObjectRef, Outcome};
use crate::reconcile::Report;

/// Builds the JSON document of a report.
pub(super) fn report(report: &Report, role: &str, plan: bool, live: bool) -> Value {
    let calls = report.effects.trace.iter().map(|call| {
        json!({
            "atMs": call.at.as_secs_f64() * 1000.0,
            "tookMs": call.took.as_secs_f64() * 1000.0,
            "function": call.function,
            "object": call.object,
            "result": call.result,
        })
    });
    let changes = report.changes.iter().map(|change| {
        json!({
            "object": reference(&change.object),
            "verb": change.kind,
            "diff": change.diff,
            "step": change.step,
        })
    });
    json!({
        "role": role,
        "object": reference(&report.cr.object_ref()),
        "live": live,
        "plan": plan,
        "paused": report.paused,
        "outcome": outcome(&report.outcome),
        "requeueAfterSeconds": report.requeue_after.map(|after| after.as_secs_f64()),
        "steps": steps::to_json(&report.effects.steps),
        "calls": calls.collect::<Value>(),
        "changes": changes.collect::<Value>(),
        "applied": report.effects.applied.iter().map(reference).collect::<Value>(),
        "pruned": report.pruned.iter().map(reference).collect::<Value>(),
        "writes": report.effects.writes.len(),
        "skipped": report.effects.skipped,
        "status": report.status,
        "statusWritten": report.status_written,
        "notes": report.notes,
        "tookMs": report.took.as_secs_f64() * 1000.0,
    })
}

fn outcome(outcome: &Outcome) -> Value {
    let message = match outcome {
        Outcome::Waiting { on } => on,
        Outcome::Failed { message, .. }
        | Outcome::Stalled { message }
        | Outcome::Conflict { message } => message,
        Outcome::Done | Outcome::Cancelled => &"".into(),
    };
    json!({"kind": outcome.as_str(), "message": message})
}

fn reference(object: &ObjectRef) -> Value {
    json!({
        "apiVersion": object.gvk.api_version(),
        "kind": &*object.gvk.kind,
        "namespace": object.namespace.as_deref(),
        "name": &*object.name,
    })
}
