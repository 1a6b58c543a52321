//! `rhai-operator generate`: prints or updates files that are derived from the project. Each subcommand has a file.

pub(super) mod crd;
mod rbac;
mod schema;
mod source;

use clap::Subcommand;

use super::Exit;
use crate::role::Toolchain;

/// The file to generate.
#[derive(Debug, Subcommand)]
pub(super) enum Command {
    /// Write the custom resource definitions that the inputs of the roles describe.
    Crd(crd::Options),
    /// Print the roles of RBAC that the operator and its roles need.
    Rbac(rbac::Options),
    /// Print the JSON Schema of a file, for editors.
    Schema(schema::Options),
}

impl Command {
    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        match self {
            Self::Crd(options) => options.run(toolchain),
            Self::Rbac(options) => options.run(toolchain),
            Self::Schema(options) => options.run(),
        }
    }
}
