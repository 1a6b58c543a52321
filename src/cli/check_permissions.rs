//! The part of `check` that compares the RBAC rules of the deploy folder with the needs of the project.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::install::manifest_files;
use crate::generate::Settings;
use crate::generate::rbac::{KindTable, Manifests, Paths, Requirements, compare};
use crate::model::Diagnostic;
use crate::model::diagnostics::Diagnostics;
use crate::regular_file;
use crate::role::Project;

/// Returns the permissions that the deploy folder lacks, and those that nothing needs.
pub(super) fn permissions(
    project: &Project,
    crds: &[(PathBuf, Value)],
    paths: &Paths<'_>,
) -> Vec<Diagnostic> {
    let settings = match Settings::read(&paths.deploy_dir.join("settings.yaml")) {
        Ok(settings) => settings,
        Err(errors) => return errors,
    };
    let manifests = match manifests(paths.deploy_dir) {
        Ok(manifests) => manifests,
        Err(errors) => return errors,
    };
    let crds: Vec<Value> = crds.iter().map(|(_, crd)| crd.clone()).collect();
    let requirements = Requirements::of_project(project, &KindTable::new(&crds), &settings);
    compare(&requirements, &manifests, &settings.watch_namespaces, paths)
}

/// Reads the YAML files of a folder.
fn manifests(folder: &Path) -> Result<Vec<Manifests>, Vec<Diagnostic>> {
    let unreadable = |file: &Path, error: &dyn std::fmt::Display| {
        vec![Diagnostic::error(
            file,
            0,
            0,
            format!("cannot read: {error}"),
        )]
    };
    let files = manifest_files(folder).map_err(|error| unreadable(folder, &error))?;
    let mut all = Vec::new();
    for file in files {
        let text = regular_file::read_text(&file).map_err(|error| unreadable(&file, &error))?;
        let diagnostics = Diagnostics::new(&file);
        let documents = diagnostics.parse_all(&text);
        let errors = diagnostics.into_vec();
        if errors.iter().any(Diagnostic::is_error) {
            return Err(errors);
        }
        all.push(Manifests { file, documents });
    }
    Ok(all)
}
