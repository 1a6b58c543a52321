//! `rhai-operator generate`: prints or updates files that are derived from the project. Each subcommand has a file.

mod all;
pub(super) mod crd;
mod generated_files;
pub(super) mod manifests;
mod package;
mod rbac;
mod schema;
pub(super) mod source;

use clap::{Args, Subcommand};

use self::package::{Package, PackageOptions};
use super::Exit;
use crate::role::Toolchain;

/// The files to generate: those of a subcommand, or all.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(super) struct Options {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    all: all::AllOptions,
}

/// The files to generate.
#[derive(Debug, Subcommand)]
enum Command {
    /// Write the custom resource definitions that the inputs of the roles describe.
    Crd(crd::Options),
    /// Print the ClusterRoles, Roles and bindings that the operator and its roles need.
    Rbac(rbac::Options),
    /// Write the manifests of the operator: the deploy folder without CRDs and samples.
    Manifests(manifests::Options),
    /// Write a Helm chart.
    Helm(PackageOptions),
    /// Write a bundle for the Operator Lifecycle Manager (OLM).
    Bundle(PackageOptions),
    /// Print the JSON Schema of a file, for editors.
    Schema(schema::Options),
}

impl Options {
    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        match self.command {
            None => self.all.run(toolchain),
            Some(Command::Crd(options)) => options.run(toolchain),
            Some(Command::Rbac(options)) => options.run(toolchain),
            Some(Command::Manifests(options)) => options.run(toolchain),
            Some(Command::Helm(options)) => options.run(Package::Chart, toolchain),
            Some(Command::Bundle(options)) => options.run(Package::Bundle, toolchain),
            Some(Command::Schema(options)) => options.run(),
        }
    }
}
