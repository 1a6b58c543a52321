//! `rhai-operator generate manifests`: writes the manifests of the operator to the deploy folder.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::project::{Project, existing_folder};
use crate::cli::{Exit, print_diagnostics};
use crate::generate::manifests::{DeployFolder, owned_paths};
use crate::generate::rbac::Requirements;
use crate::role::Toolchain;

use super::generated_files::GeneratedFiles;
use super::source::Source;

/// The command that writes the manifests.
const COMMAND: &str = "rhai-operator generate manifests";

/// The project whose manifests are written.
#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    project: Project,
    /// Folder that the manifests are written to, with the CRDs of the project (`crds`) and the settings
    /// (`settings.yaml`). Default: ./deploy
    #[arg(long, value_name = "DIR", env = "RHAI_OPERATOR_DEPLOY_DIR")]
    deploy_dir: Option<PathBuf>,
    /// Write nothing; fail if a file of the deploy folder is missing or differs.
    #[arg(long)]
    check: bool,
    /// Print the manifests instead of writing them.
    #[arg(long, conflicts_with = "check")]
    print: bool,
}

impl Options {
    /// Returns the options for the manifests of a project.
    pub(super) fn all(project: Project, deploy_dir: Option<PathBuf>, check: bool) -> Self {
        Self {
            project,
            deploy_dir,
            check,
            print: false,
        }
    }

    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        let deploy_dir = self.deploy_dir.as_deref();
        let source = match Source::load(&self.project, deploy_dir, toolchain)? {
            Ok(source) => source,
            Err(diagnostics) => {
                print_diagnostics(&diagnostics)?;
                return Ok(Exit::Failed);
            }
        };
        let folder = existing_folder(deploy_dir, "--deploy-dir", "./deploy")?;
        let files = plan(&source, folder)?;
        if self.print {
            files.print_texts()?;
            return Ok(Exit::Done);
        }
        files.finish(self.check)
    }
}

/// Generates the manifests, and compares them with those of the deploy folder.
pub(in crate::cli) fn plan(source: &Source, deploy: &Path) -> anyhow::Result<GeneratedFiles> {
    let requirements = Requirements::of_project(&source.project, &source.kinds, &source.settings);
    let folder = DeployFolder {
        settings: &source.settings,
        requirements: &requirements,
        crds: &source.crds,
    };
    GeneratedFiles::compare(deploy, folder.files()?, owned_paths(), COMMAND)
}
