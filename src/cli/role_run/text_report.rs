//! The report of a run as text: each call, the diffs, the status and the outcome.

use std::io::{self, IsTerminal, Write};

use super::colors::{Colors, DIM, GREEN, RED, YELLOW, millis};
use super::steps;
use crate::apply::diff::ChangeKind;
use crate::model::redact::escaped;
use crate::model::{Outcome, yaml};
use crate::reconcile::{ObjectChange, Report, TracedCall};

/// Writes a report.
pub(super) fn report(
    out: &mut impl Write,
    report: &Report,
    role: &str,
    plan: bool,
) -> io::Result<()> {
    let use_colors = io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    let paint = Colors {
        enabled: use_colors,
    };
    let verb = if plan { "plan of role" } else { "role" };
    writeln!(out, "{verb} {role} for {}", report.cr.object_ref())?;
    if !report.effects.steps.is_empty() {
        steps::write(out, &report.effects.steps, &paint)?;
        writeln!(out)?;
    }
    calls(out, &report.effects.trace, &paint)?;
    let mut step = None;
    for change in &report.changes {
        if change.step.as_ref() != step {
            step = change.step.as_ref();
            let title = step.map_or_else(|| "pruned".to_owned(), |step| format!("step {step}"));
            writeln!(out, "\n{}", paint.paint(DIM, &format!("─── {title}")))?;
        }
        diff(out, change, plan, &paint)?;
    }
    if !report.status.is_null() {
        writeln!(out, "\nstatus:")?;
        for line in escaped(&yaml::write(&report.status)).lines() {
            writeln!(out, "  {line}")?;
        }
    }
    for note in &report.notes {
        writeln!(out, "\n{}", paint.paint(YELLOW, &format!("note: {note}")))?;
    }
    writeln!(out, "\n{}", outcome_line(report, &paint))
}

fn calls(out: &mut impl Write, calls: &[TracedCall], paint: &Colors) -> io::Result<()> {
    let width = |text: fn(&TracedCall) -> &str| {
        calls
            .iter()
            .map(|call| text(call).chars().count())
            .max()
            .unwrap_or_default()
    };
    let (functions, objects) = (width(|call| call.function), width(|call| &call.object));
    for call in calls {
        let TracedCall {
            at,
            took,
            function,
            object,
            result,
        } = call;
        let times = format!("{:>8}  {:>8}", millis(*at), millis(*took));
        writeln!(
            out,
            "{}  {function:functions$}  {object:objects$}  {result}",
            paint.paint(DIM, &times)
        )?;
    }
    Ok(())
}

fn diff(out: &mut impl Write, change: &ObjectChange, plan: bool, paint: &Colors) -> io::Result<()> {
    let verb = match (change.kind, plan) {
        (ChangeKind::Create, true) => "would be created",
        (ChangeKind::Create, false) => "created",
        (ChangeKind::Change, true) => "would be changed",
        (ChangeKind::Change, false) => "changed",
        (ChangeKind::Delete, true) => "would be deleted",
        (ChangeKind::Delete, false) => "deleted",
    };
    writeln!(out, "\n{} {verb}", change.object)?;
    for line in change.diff.lines() {
        let color = match line.as_bytes().first() {
            Some(b'+') => GREEN,
            Some(b'-') => RED,
            _ => "",
        };
        writeln!(out, "{}", paint.paint(color, line))?;
    }
    Ok(())
}

fn outcome_line(report: &Report, paint: &Colors) -> String {
    let (color, text) = match &report.outcome {
        _ if report.paused => (YELLOW, "paused".to_owned()),
        Outcome::Done => (GREEN, "done".to_owned()),
        Outcome::Waiting { on } => (YELLOW, format!("waiting for {on}")),
        Outcome::Failed { message, .. } => (RED, format!("failed: {message}")),
        Outcome::Stalled { message } => (RED, format!("stalled: {message}")),
        Outcome::Conflict { message } => (RED, format!("fighting: {message}")),
        Outcome::Cancelled => (RED, "cancelled".to_owned()),
    };
    let counts = format!(
        "({}, {} not needed, {})",
        crate::cli::format_writes(report.effects.writes.len()),
        report.effects.skipped,
        millis(report.took)
    );
    let again = report.requeue_after.map_or_else(String::new, |after| {
        format!("; again in {}", crate::model::duration::format(after))
    });
    format!(
        "{}{again} {}",
        paint.paint(color, &text),
        paint.paint(DIM, &counts)
    )
}
