//! Loads what files are generated from: the project, the settings and the CRDs of the deploy folder.

use std::path::Path;

use serde_json::Value;

use crate::cli::install::manifest_files;
use crate::cli::project::{self, existing_folder};
use crate::generate::Settings;
use crate::generate::rbac::KindTable;
use crate::model::Diagnostic;
use crate::model::diagnostics::Diagnostics;
use crate::model::yaml::Node;
use crate::regular_file;
use crate::role::{self, Toolchain};
use crate::watches::Environment;

/// The source of generated files.
pub(in crate::cli) struct Source {
    pub(super) project: role::Project,
    pub(super) settings: Settings,
    pub(super) kinds: KindTable,
}

impl Source {
    /// Loads the files. The inner result fails with all errors.
    pub(in crate::cli) fn load(
        flags: &project::Project,
        deploy_dir: Option<&Path>,
        toolchain: &Toolchain,
    ) -> anyhow::Result<Result<Self, Vec<Diagnostic>>> {
        flags.check_flags()?;
        let deploy = existing_folder(deploy_dir, "--deploy-dir", "./deploy")?;
        let settings = Settings::read(&deploy.join("settings.yaml"));
        let crds = crds(&deploy.join("crds"))?;
        // The environment of this machine is not that of the operator.
        let environment = Environment::default();
        let project = role::Project::load(
            &flags.watches_file,
            &flags.roles_dir,
            &environment,
            toolchain,
        );
        Ok(match (project, settings, crds) {
            (Ok(project), Ok(settings), Ok(crds)) => Ok(Self {
                project,
                settings,
                kinds: KindTable::new(&crds),
            }),
            (project, settings, crds) => {
                let mut all = project.err().unwrap_or_default();
                all.extend(settings.err().unwrap_or_default());
                all.extend(crds.err().unwrap_or_default());
                Err(all)
            }
        })
    }
}

/// Returns the documents of a folder with CRDs.
fn crds(folder: &Path) -> anyhow::Result<Result<Vec<Value>, Vec<Diagnostic>>> {
    let mut documents = Vec::new();
    let mut errors = Vec::new();
    for file in manifest_files(folder)? {
        match regular_file::read_text(&file) {
            Ok(text) => {
                let diagnostics = Diagnostics::new(&file);
                let nodes = diagnostics.parse_all(&text);
                documents.extend(nodes.iter().map(Node::to_value));
                errors.extend(diagnostics.into_vec());
            }
            Err(error) => {
                let message = format!("cannot read: {error}");
                errors.push(Diagnostic::error(&file, 0, 0, message));
            }
        }
    }
    Ok(if errors.is_empty() {
        Ok(documents)
    } else {
        Err(errors)
    })
}
