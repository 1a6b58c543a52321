//! The files of a new project, kind, role or scenario.
//!
//! Each function returns files with paths relative to the project. It reads and writes nothing.

mod insert;
mod names;

#[cfg(test)]
mod tests;

use minijinja::context;

pub(crate) use insert::append_watch;
pub(crate) use names::{check_domain, check_folder, check_group, check_kind, check_version};

use super::crd::plural;
use super::project_file::{ProjectFile, render};

/// The form of a role.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// `tasks/main.rhai`
    Script,
    /// `tasks/main.yaml`
    Pipeline,
}

/// A kind to add to a project.
#[derive(Clone, Debug)]
pub(crate) struct Api {
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) namespaced: bool,
    pub(crate) form: Form,
}

const PROJECT: [(&str, &str); 6] = [
    ("watches.yaml", include_str!("templates/watches.yaml")),
    (".gitignore", include_str!("templates/gitignore")),
    ("Dockerfile", include_str!("templates/Dockerfile")),
    ("README.md", include_str!("templates/README.md")),
    (
        ".github/workflows/check.yaml",
        include_str!("templates/workflow.yaml"),
    ),
    (
        "deploy/settings.yaml",
        include_str!("templates/settings.yaml"),
    ),
];

/// Returns the files of a project without kinds, except the generated manifests.
pub(crate) fn project_files(
    domain: &str,
    name: &str,
) -> Result<Vec<ProjectFile>, minijinja::Error> {
    let version = env!("CARGO_PKG_VERSION");
    let values = context! { domain, name, version };
    let files = PROJECT.iter();
    files
        .map(|(path, template)| ProjectFile::render(*path, template, &values))
        .collect()
}

impl Api {
    /// Returns the name of the role: `website` for the kind `WebSite`.
    pub(crate) fn role(&self) -> String {
        self.kind.to_lowercase()
    }

    fn values(&self) -> minijinja::Value {
        let Self {
            group,
            version,
            kind,
            namespaced,
            form: _,
        } = self;
        let (role, plural) = (self.role(), plural(kind));
        let cluster = !namespaced;
        context! { group, version, kind, role, plural, cluster }
    }

    /// Returns the role of the kind, a sample and a scenario. The CRD is generated from the inputs of the role.
    pub(crate) fn files(&self) -> Result<Vec<ProjectFile>, minijinja::Error> {
        let role = self.role();
        let values = self.values();
        let (main, template) = match self.form {
            Form::Script => ("main.rhai", include_str!("templates/main.rhai")),
            Form::Pipeline => ("main.yaml", include_str!("templates/main.yaml")),
        };
        let files = [
            (format!("roles/{role}/tasks/{main}"), template),
            (
                format!("roles/{role}/defaults/main.yaml"),
                include_str!("templates/defaults.yaml"),
            ),
            (
                format!("roles/{role}/meta/main.yaml"),
                include_str!("templates/meta.yaml"),
            ),
            (
                format!("deploy/samples/{}_{role}.yaml", self.version),
                include_str!("templates/sample.yaml"),
            ),
            (
                format!("molecule-tests/{role}/converge.yaml"),
                include_str!("templates/converge.yaml"),
            ),
            (
                format!("molecule-tests/{role}/verify.yaml"),
                include_str!("templates/verify.yaml"),
            ),
        ];
        let files = files.into_iter();
        files
            .map(|(path, template)| ProjectFile::render(path, template, &values))
            .collect()
    }

    /// Returns the entry of watches.yaml.
    pub(crate) fn watch(&self) -> Result<String, minijinja::Error> {
        render(include_str!("templates/watch.yaml"), &self.values())
    }
}

/// Returns the files of a role that other roles include.
pub(crate) fn role_files(role: &str, form: Form) -> Result<Vec<ProjectFile>, minijinja::Error> {
    let (main, template) = match form {
        Form::Script => ("main.rhai", include_str!("templates/role_main.rhai")),
        Form::Pipeline => ("main.yaml", include_str!("templates/role_main.yaml")),
    };
    let values = context! { role };
    Ok(vec![
        ProjectFile::render(format!("roles/{role}/tasks/{main}"), template, &values)?,
        ProjectFile::render(
            format!("roles/{role}/meta/main.yaml"),
            include_str!("templates/role_meta.yaml"),
            &values,
        )?,
    ])
}

/// Returns the files of a scenario for a custom resource, given as YAML.
pub(crate) fn test_files(
    scenario: &str,
    api_version: &str,
    kind: &str,
    name: &str,
    custom_resource: &str,
) -> Result<Vec<ProjectFile>, minijinja::Error> {
    let values = context! { api_version, kind, name, custom_resource };
    let file = |stage: &str, template: &str| {
        let path = format!("molecule-tests/{scenario}/{stage}.yaml");
        ProjectFile::render(path, template, &values)
    };
    Ok(vec![
        file("converge", include_str!("templates/test_converge.yaml"))?,
        file("verify", include_str!("templates/test_verify.yaml"))?,
    ])
}
