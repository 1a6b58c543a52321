//! `rhai-operator generate rbac`: the RBAC manifests that the operator and its roles need.

use std::io::{self, Write};
use std::path::PathBuf;

use clap::Args;

use crate::cli::project::Project;
use crate::cli::{Exit, print_diagnostics};
use crate::generate::rbac::{Requirements, document};
use crate::role::Toolchain;

use super::source::Source;

/// The project whose permissions are printed.
#[derive(Debug, Args)]
pub(in crate::cli) struct Options {
    #[command(flatten)]
    project: Project,
    /// Folder with the CRDs of the project (`crds`) and the settings (`settings.yaml`). Default: ./deploy, if
    /// it exists.
    #[arg(long, value_name = "DIR", env = "RHAI_OPERATOR_DEPLOY_DIR")]
    deploy_dir: Option<PathBuf>,
    /// Namespaces that the operator watches, separated by commas. Prints a Role for each of them instead of a
    /// ClusterRole. Default: `watchNamespaces` of the settings.
    #[arg(long, value_name = "NAMES", value_delimiter = ',')]
    watch_namespace: Vec<String>,
}

impl Options {
    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        let Self {
            project,
            deploy_dir,
            watch_namespace,
        } = self;
        let mut source = match Source::load(&project, deploy_dir.as_deref(), toolchain)? {
            Ok(source) => source,
            Err(diagnostics) => {
                print_diagnostics(&diagnostics)?;
                return Ok(Exit::Failed);
            }
        };
        if !watch_namespace.is_empty() {
            source.settings.watch_namespaces = watch_namespace;
        }
        let requirements =
            Requirements::of_project(&source.project, &source.kinds, &source.settings);
        let text = document(&requirements, &source.settings);
        io::stdout().lock().write_all(text.as_bytes())?;
        Ok(Exit::Done)
    }
}
