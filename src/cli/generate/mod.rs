//! `rhai-operator generate`: prints or updates files that are derived from the project. Each subcommand has a file.

mod schema;

use clap::Subcommand;

use super::Exit;

/// The file to generate.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Print the JSON Schema of a file, for editors.
    Schema(schema::Options),
}

impl Command {
    pub(super) fn run(self) -> anyhow::Result<Exit> {
        match self {
            Self::Schema(options) => options.run(),
        }
    }
}
