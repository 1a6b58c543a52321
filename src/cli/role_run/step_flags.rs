//! Flags that select the steps of a pipeline.

use std::collections::BTreeSet;

use anyhow::{anyhow, bail};
use clap::Args;
use clap::builder::NonEmptyStringValueParser;

use crate::model::{Outcome, diagnostics};
use crate::reconcile::{Report, StepReport, StepSelection, StepState};
use crate::role::{Entry, Role};

/// The selection of steps on the command line.
#[derive(Debug, Args)]
pub(super) struct StepFlags {
    /// Execute only the steps of a pipeline with one of these tags. The run then prunes nothing and writes
    /// no condition.
    #[arg(
        long,
        value_name = "TAG",
        value_delimiter = ',',
        value_parser = NonEmptyStringValueParser::new()
    )]
    tags: Vec<String>,
    /// Start a pipeline at this step, in the order of the file. The run then prunes nothing and writes no
    /// condition.
    #[arg(long, value_name = "STEP", value_parser = NonEmptyStringValueParser::new())]
    start_at: Option<String>,
}

impl StepFlags {
    /// Returns the selection. Fails if the role does not have a tag or a step of that name.
    pub(super) fn resolve(&self, role: &Role) -> anyhow::Result<StepSelection> {
        let selection = StepSelection {
            tags: self.tags.iter().cloned().collect(),
            start_at: self.start_at.clone(),
        };
        if selection.is_all() {
            return Ok(selection);
        }
        let entries = [Some(&role.entry), role.finalize.as_ref()];
        let pipelines = entries
            .into_iter()
            .flatten()
            .filter_map(|entry| match entry {
                Entry::Pipeline(pipeline) => Some(pipeline),
                Entry::Script(_) => None,
            });
        let steps: Vec<_> = pipelines
            .flat_map(|pipeline| pipeline.all_steps())
            .collect();
        if steps.is_empty() {
            bail!("role {} is a script: it has no steps to select", role.name);
        }
        let names = steps.iter().map(|step| &*step.name).collect();
        let tags = steps.iter().flat_map(|step| &step.tags);
        let tags = tags.map(AsRef::as_ref).collect();
        for tag in &self.tags {
            check_known(role, "tag", tag, &tags)?;
        }
        if let Some(name) = &self.start_at {
            check_known(role, "step", name, &names)?;
        }
        Ok(selection)
    }

    /// Fails if the flags together selected no step.
    pub(super) fn check(&self, report: &Report, role: &str) -> anyhow::Result<()> {
        let is_done = report.outcome == Outcome::Done && !report.effects.steps.is_empty();
        if !is_done || report.effects.steps.iter().any(is_selected) {
            return Ok(());
        }
        let start = self
            .start_at
            .iter()
            .map(|step| format!("--start-at {step}"));
        let tags = Some(self.tags.join(",")).filter(|tags| !tags.is_empty());
        let flags = start.chain(tags.map(|tags| format!("--tags {tags}")));
        let flags = flags.collect::<Vec<_>>().join(" with ");
        bail!("role {role}: {flags} selects no step: the run did nothing")
    }
}

/// Returns true if the flags selected a step or one of its inner steps.
fn is_selected(step: &StepReport) -> bool {
    if step.steps.is_empty() {
        step.state != StepState::Unselected
    } else {
        step.steps.iter().any(is_selected)
    }
}

fn check_known(role: &Role, what: &str, name: &str, known: &BTreeSet<&str>) -> anyhow::Result<()> {
    if known.contains(name) {
        return Ok(());
    }
    let candidates: Vec<&str> = known.iter().copied().collect();
    let owner = format!("role {}", role.name);
    Err(unknown_name(&owner, what, name, &candidates))
}

/// Returns the error for an unknown name, with the nearest known name.
pub(super) fn unknown_name(owner: &str, what: &str, name: &str, known: &[&str]) -> anyhow::Error {
    match diagnostics::nearest(name, known) {
        Some(near) => anyhow!("{owner} has no {what} {name}: did you mean {near}?"),
        None if known.is_empty() => anyhow!("{owner} has no {what}s"),
        None => anyhow!(
            "{owner} has no {what} {name}; there are {}",
            known.join(", ")
        ),
    }
}
