//! Generates a bundle for the Operator Lifecycle Manager (OLM): the `ClusterServiceVersion`, the CRDs, annotations and
//! the configuration of the scorecard.

mod cluster_service_version;
mod descriptors;

#[cfg(test)]
mod tests;

use std::path::Path;

use minijinja::context;
use serde_json::Value;

use super::Settings;
use super::manifests::{CrdFile, HEAD};
use super::project_file::{ProjectFile, render};
use super::rbac::Requirements;
use crate::model::yaml;

/// The templates of the files that contain no objects.
const FILES: [(&str, &str); 3] = [
    (
        "metadata/annotations.yaml",
        include_str!("templates/annotations.yaml"),
    ),
    (
        "tests/scorecard/config.yaml",
        include_str!("templates/scorecard.yaml"),
    ),
    ("bundle.Dockerfile", include_str!("templates/Dockerfile")),
];

/// The sources of a bundle.
pub(crate) struct Bundle<'a> {
    pub(crate) settings: &'a Settings,
    pub(crate) requirements: &'a Requirements,
    pub(crate) crds: &'a [CrdFile],
    /// A custom resource of each kind.
    pub(crate) samples: &'a [Value],
}

impl Bundle<'_> {
    /// Generates all files. Their paths are relative to the folder of the bundle.
    pub(crate) fn files(&self) -> Result<Vec<ProjectFile>, minijinja::Error> {
        let name = &self.settings.name;
        let csv = self.cluster_service_version()?;
        let file = format!("{name}.clusterserviceversion.yaml");
        let mut files = vec![marked(
            Path::new("manifests").join(file),
            &yaml::write(&csv),
        )];
        for crd in self.crds {
            files.push(marked(Path::new("manifests").join(&crd.name), &crd.text));
        }
        let values = context! { name };
        for (path, template) in FILES {
            files.push(marked(path, &render(template, &values)?));
        }
        Ok(files)
    }
}

fn marked(path: impl AsRef<Path>, text: &str) -> ProjectFile {
    ProjectFile {
        path: path.as_ref().to_owned(),
        text: format!("{HEAD}{text}"),
    }
}
