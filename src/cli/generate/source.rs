//! Loads what files are generated from: the project, the settings and the CRDs of the deploy folder.

use std::path::Path;

use crate::cli::install::manifest_files;
use crate::cli::project::{self, existing_folder};
use crate::generate::Settings;
use crate::generate::manifests::CrdFile;
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
    /// The files of the deploy folder with one CRD or more.
    pub(super) crds: Vec<CrdFile>,
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
            (Ok(project), Ok(settings), Ok(crds)) => {
                let definitions = crds.iter().flat_map(|crd| crd.definitions.clone());
                Ok(Self {
                    project,
                    settings,
                    kinds: KindTable::new(&definitions.collect::<Vec<_>>()),
                    crds,
                })
            }
            (project, settings, crds) => {
                let mut all = project.err().unwrap_or_default();
                all.extend(settings.err().unwrap_or_default());
                all.extend(crds.err().unwrap_or_default());
                Err(all)
            }
        })
    }
}

/// Returns the files of a folder with CRDs.
fn crds(folder: &Path) -> anyhow::Result<Result<Vec<CrdFile>, Vec<Diagnostic>>> {
    let mut files = Vec::new();
    let mut errors = Vec::new();
    for path in manifest_files(folder)? {
        match regular_file::read_text(&path) {
            Ok(text) => {
                let diagnostics = Diagnostics::new(&path);
                let nodes = diagnostics.parse_all(&text);
                let name = path.file_name().unwrap_or_default();
                files.push(CrdFile {
                    name: name.to_string_lossy().into_owned(),
                    text,
                    definitions: nodes.iter().map(Node::to_value).collect(),
                });
                errors.extend(diagnostics.into_vec());
            }
            Err(error) => {
                let message = format!("cannot read: {error}");
                errors.push(Diagnostic::error(&path, 0, 0, message));
            }
        }
    }
    Ok(if errors.is_empty() {
        Ok(files)
    } else {
        Err(errors)
    })
}
