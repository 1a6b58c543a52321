//! Which steps of a pipeline a run does: what was typed has to be there.

use std::collections::BTreeSet;

use anyhow::{anyhow, bail};
use clap::Args;

use crate::model::findings;
use crate::reconcile::Selection;
use crate::role::{Entry, Role};

/// The flags.
#[derive(Debug, Args)]
pub(super) struct Choice {
    /// Do only the steps of a pipeline that have one of these tags; nothing is pruned then, and no
    /// condition is written.
    #[arg(long, value_name = "TAG", value_delimiter = ',')]
    tags: Vec<String>,
    /// Begin a pipeline at this step, in the order of the file; nothing is pruned then, and no condition
    /// is written.
    #[arg(long, value_name = "STEP")]
    start_at: Option<String>,
}

impl Choice {
    /// The steps that are meant; an error where the role has no such tag or step.
    pub(super) fn of(&self, role: &Role) -> anyhow::Result<Selection> {
        let selection = Selection {
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
            bail!(
                "role {} is a script: it has no steps to choose from",
                role.name
            );
        }
        let names = steps.iter().map(|step| &*step.name).collect();
        let tags = steps.iter().flat_map(|step| &step.tags);
        let tags = tags.map(AsRef::as_ref).collect();
        for tag in &self.tags {
            known(role, "tag", tag, &tags)?;
        }
        if let Some(name) = &self.start_at {
            known(role, "step", name, &names)?;
        }
        Ok(selection)
    }
}

fn known(role: &Role, what: &str, name: &str, known: &BTreeSet<&str>) -> anyhow::Result<()> {
    if known.contains(name) {
        return Ok(());
    }
    let candidates: Vec<&str> = known.iter().copied().collect();
    let owner = format!("role {}", role.name);
    Err(unknown(&owner, what, name, &candidates))
}

/// The error of a name that nothing of its owner has.
pub(super) fn unknown(owner: &str, what: &str, name: &str, known: &[&str]) -> anyhow::Error {
    match findings::nearest(name, known) {
        Some(near) => anyhow!("{owner} has no {what} {name}: did you mean {near}?"),
        None if known.is_empty() => anyhow!("{owner} has no {what}s"),
        None => anyhow!(
            "{owner} has no {what} {name}; there are {}",
            known.join(", ")
        ),
    }
}
