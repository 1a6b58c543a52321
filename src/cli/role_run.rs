//! `rhai-operator role run`: one run of a role, shown call by call.

use clap::Args;

use super::Exit;
use super::connection::Connection;
use super::logging::Logging;
use super::project::Project;

/// Which role to run, for which custom resource.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Name of the role.
    role: String,
    #[command(flatten)]
    project: Project,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    logging: Logging,
}

impl Options {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        let Self {
            role,
            project: _,
            connection: _,
            logging: _,
        } = self;
        anyhow::bail!("role run is not built in yet: {role}")
    }
}
