//! `rhai-operator generate` without a subcommand: writes or checks all generated files. Packages count if they exist in
//! their default folders.

use std::path::PathBuf;

use clap::Args;

use crate::cli::Exit;
use crate::cli::project::Project;
use crate::role::Toolchain;

use super::package::{Package, PackageOptions};
use super::{crd, manifests};

/// The project whose files are written.
#[derive(Debug, Args)]
pub(in crate::cli) struct AllOptions {
    #[command(flatten)]
    project: Project,
    /// Folder that the files are written to, with the settings (`settings.yaml`). Default: ./deploy
    #[arg(long, value_name = "DIR", env = "RHAI_OPERATOR_DEPLOY_DIR")]
    deploy_dir: Option<PathBuf>,
    /// Write nothing; fail if a file is missing or differs.
    #[arg(long)]
    check: bool,
}

impl AllOptions {
    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        let Self {
            project,
            deploy_dir,
            check,
        } = self;
        let crds = crd::Options::all(project.clone(), deploy_dir.clone(), check);
        let crds = crds.run(toolchain)?;
        if crds == Exit::Failed && !check {
            return Ok(crds);
        }
        let manifests = manifests::Options::all(project.clone(), deploy_dir.clone(), check);
        let mut exits = vec![crds, manifests.run(toolchain)?];
        for package in [Package::Chart, Package::Bundle] {
            if package.exists() {
                let (project, deploy_dir) = (project.clone(), deploy_dir.clone());
                let options = PackageOptions::in_default_folder(project, deploy_dir, check);
                exits.push(options.run(package, toolchain)?);
            }
        }
        let failed = exits.into_iter().find(|exit| *exit != Exit::Done);
        Ok(failed.unwrap_or(Exit::Done))
    }
}
