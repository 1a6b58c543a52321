//! `rhai-operator check`: everything that is wrong with the project, at once.

use clap::Args;

use super::Exit;
use super::project::Project;

/// What to check.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    project: Project,
}

impl Options {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let Self { project: _ } = self;
        anyhow::bail!("check is not built in yet")
    }
}
