//! `rhai-operator generate helm` and `generate bundle`: packages of the operator.

use std::path::{Path, PathBuf};

use clap::Args;

use crate::cli::project::{Project, existing_folder};
use crate::cli::{Exit, install, print_diagnostics};
use crate::generate::bundle::Bundle;
use crate::generate::chart::Chart;
use crate::generate::rbac::Requirements;
use crate::model::yaml;
use crate::regular_file;
use crate::role::Toolchain;

use super::generated_files::GeneratedFiles;
use super::source::Source;

/// The project to package, and the folder of the package.
#[derive(Debug, Args)]
pub(in crate::cli) struct PackageOptions {
    /// Folder to write the package to. Default: ./chart for Helm, ./bundle for OLM
    folder: Option<PathBuf>,
    #[command(flatten)]
    project: Project,
    /// Folder with the CRDs of the project (`crds`), samples (`samples`) and the settings (`settings.yaml`).
    /// Default: ./deploy
    #[arg(long, value_name = "DIR", env = "RHAI_OPERATOR_DEPLOY_DIR")]
    deploy_dir: Option<PathBuf>,
    /// Write nothing; fail if a file of the package is missing or differs.
    #[arg(long)]
    check: bool,
}

/// A format of packages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Package {
    Chart,
    Bundle,
}

impl Package {
    fn default_folder(self) -> &'static str {
        match self {
            Self::Chart => "./chart",
            Self::Bundle => "./bundle",
        }
    }

    fn command(self) -> &'static str {
        match self {
            Self::Chart => "rhai-operator generate helm",
            Self::Bundle => "rhai-operator generate bundle",
        }
    }

    /// Returns the folder of CRDs in the package.
    fn crds(self) -> &'static Path {
        match self {
            Self::Chart => Path::new("crds"),
            Self::Bundle => Path::new("manifests"),
        }
    }

    /// Returns true if the project has the package in the default folder.
    pub(super) fn exists(self) -> bool {
        let file = match self {
            Self::Chart => "Chart.yaml",
            Self::Bundle => "metadata/annotations.yaml",
        };
        Path::new(self.default_folder()).join(file).exists()
    }
}

impl PackageOptions {
    /// Returns the options for the package in the default folder.
    pub(super) fn in_default_folder(
        project: Project,
        deploy_dir: Option<PathBuf>,
        check: bool,
    ) -> Self {
        Self {
            folder: None,
            project,
            deploy_dir,
            check,
        }
    }

    pub(super) fn run(self, package: Package, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        let deploy_dir = self.deploy_dir.as_deref();
        let source = match Source::load(&self.project, deploy_dir, toolchain)? {
            Ok(source) => source,
            Err(diagnostics) => {
                print_diagnostics(&diagnostics)?;
                return Ok(Exit::Failed);
            }
        };
        let settings = &source.settings;
        let requirements = &Requirements::of_project(&source.project, &source.kinds, settings);
        let crds = &*source.crds;
        let files = match package {
            Package::Chart => Chart {
                settings,
                requirements,
                crds,
            }
            .files()?,
            Package::Bundle => {
                let deploy = existing_folder(deploy_dir, "--deploy-dir", "./deploy")?;
                let samples = &samples(&deploy.join("samples"))?;
                let bundle = Bundle {
                    settings,
                    requirements,
                    crds,
                    samples,
                };
                bundle.files()?
            }
        };
        let folder = self.folder.as_deref();
        let folder = folder.unwrap_or_else(|| Path::new(package.default_folder()));
        // The CRDs of kinds that the project no longer has.
        let crds = install::manifest_files(&folder.join(package.crds()))?;
        let names = crds.iter().filter_map(|path| path.file_name());
        let owned = names.map(|name| package.crds().join(name));
        let files = GeneratedFiles::compare(folder, files, owned, package.command())?;
        files.finish(self.check)
    }
}

/// Returns the custom resources of a folder.
fn samples(folder: &Path) -> anyhow::Result<Vec<serde_json::Value>> {
    let mut samples = Vec::new();
    for file in install::manifest_files(folder)? {
        samples.extend(yaml::parse_all(&regular_file::read_text(&file)?)?);
    }
    Ok(samples)
}
