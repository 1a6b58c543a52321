//! Compares the responses of two servers to the same steps.

use std::fmt::Write;

use similar::TextDiff;

use crate::declared;
use crate::step_response::StepResponse;
use crate::summary::{self, Outcome};
use test_harness::requests::{Sequence, Step};

/// The maximum number of differences in an error message. Later differences are often consequences of the
/// first ones.
const MAX_SHOWN: usize = 4;
const CONTEXT: usize = 4;

/// Compares the responses and counts the outcomes. The error shows the first differences.
pub(crate) fn compare(
    sequence: &Sequence,
    expected: &[StepResponse],
    seen: &[StepResponse],
) -> Result<(), String> {
    let mut differences = Vec::new();
    for (number, step) in sequence.steps.iter().enumerate() {
        let (expected, seen) = (expected.get(number), seen.get(number));
        let place = step_place(sequence, number, step);
        let outcome = match (expected, seen) {
            (Some(expected), Some(seen)) if expected == seen => Outcome::Equal,
            (Some(_), Some(_)) if declared::is_declared(&place) => Outcome::Declared,
            (Some(_), Some(seen)) if seen.is_not_implemented() => Outcome::NotImplemented,
            _ => Outcome::Different,
        };
        if matches!(outcome, Outcome::Different | Outcome::NotImplemented) {
            let text = difference(&place, step, expected, seen);
            summary::difference(&sequence.theme, place, &text);
            differences.push(text);
        }
        summary::count(&sequence.theme, outcome);
    }
    if differences.is_empty() {
        return Ok(());
    }
    let number = differences.len();
    differences.truncate(MAX_SHOWN);
    Err(format!(
        "{number} of {} answers differ (- real, + embedded)\n\n{}",
        sequence.steps.len(),
        differences.join("\n")
    ))
}

/// Returns the identifier of a step: `theme/sequence/number label`.
pub(crate) fn step_place(sequence: &Sequence, number: usize, step: &Step) -> String {
    format!(
        "{}/{}/{} {}",
        sequence.theme,
        sequence.name,
        number + 1,
        step.label()
    )
}

fn difference(
    place: &str,
    step: &Step,
    expected: Option<&StepResponse>,
    seen: Option<&StepResponse>,
) -> String {
    let text = |answer: Option<&StepResponse>| answer.map(StepResponse::text).unwrap_or_default();
    let (expected, seen) = (text(expected), text(seen));
    let diff = TextDiff::from_lines(&expected, &seen);
    let diff = diff.unified_diff().context_radius(CONTEXT).to_string();
    format!("### {place}\n{}{diff}\n", sent(step))
}

/// Formats the parts of a request that its label does not contain.
fn sent(step: &Step) -> String {
    let mut sent = String::new();
    if step.name.is_some() {
        let _ = writeln!(sent, "  {}{}", step.request, step.run);
    }
    for (name, value) in &step.query {
        let _ = writeln!(sent, "  ?{name}={value}");
    }
    if let Some(by) = &step.by {
        let _ = writeln!(
            sent,
            "  by {by}{}",
            if step.force { ", by force" } else { "" }
        );
    }
    if let Some(body) = &step.body {
        let _ = writeln!(sent, "  {body}");
    }
    if let Some(raw) = step.raw.as_ref().filter(|raw| raw.len() < 2000) {
        let _ = writeln!(sent, "  {raw}");
    }
    sent
}
