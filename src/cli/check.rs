//! `rhai-operator check`: reports all errors of a project.
//!
//! The diagnostics are the data of this command and go to stdout; the summary goes to stderr.

mod definitions;
mod sarif;

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::{Args, ValueEnum};
use serde_json::{Value, json};

use self::definitions::{ProjectPaths, check_definitions};
use super::check_permissions::permissions;
use super::project::{Project, existing_folder};
use super::{Exit, install};
use crate::generate::rbac::Paths;
use crate::model::diagnostic::Severity;
use crate::model::diagnostics::Diagnostics;
use crate::model::yaml::Node;
use crate::model::{Diagnostic, Gvk};
use crate::regular_file;
use crate::role::{self, Toolchain};
use crate::watches::{self, Environment};

/// The project to check.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    project: Project,
    /// Folder with the CRDs (`crds`) and the RBAC manifests of the project. `check` compares the roles with
    /// both. Default: ./deploy, if it exists.
    #[arg(long, value_name = "DIR", env = "RHAI_OPERATOR_DEPLOY_DIR")]
    deploy_dir: Option<PathBuf>,
    /// Also report the defaults that differ from those of the Ansible operator.
    #[arg(long)]
    ansible: bool,
    /// Format of the diagnostics.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Format,
}

/// The format of the diagnostics.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// Text for people
    Text,
    /// One JSON document
    Json,
    /// One SARIF document, for code scanning
    Sarif,
}

impl Options {
    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        let Self {
            project,
            deploy_dir,
            ansible,
            output,
        } = self;
        let Project {
            watches_file,
            roles_dir,
            allow_env: _,
            allow_http: _,
        } = project;
        let deploy_dir = existing_folder(deploy_dir.as_deref(), "--deploy-dir", "./deploy")?;
        let crds = Crds::read(&deploy_dir.join("crds"));
        let environment = Environment::of_process();
        let loaded = role::Project::load(&watches_file, &roles_dir, &environment, toolchain);
        let (mut diagnostics, found) = match loaded {
            Ok(project) => {
                let mut found = fields(&project, &roles_dir, &crds.documents);
                let paths = ProjectPaths {
                    watches_file: &watches_file,
                    roles_dir: &roles_dir,
                };
                found.extend(check_definitions(&project, paths, &crds.documents));
                let paths = Paths {
                    watches_file: &watches_file,
                    roles_dir: &roles_dir,
                    deploy_dir,
                };
                found.extend(permissions(&project, &crds.documents, &paths));
                (project.notes, found)
            }
            Err(diagnostics) => (diagnostics, Vec::new()),
        };
        if ansible {
            diagnostics.extend(watches::ansible_defaults(&watches_file));
        }
        diagnostics.extend(crds.diagnostics);
        diagnostics.extend(found);
        let exit = if diagnostics.iter().any(Diagnostic::is_error) {
            Exit::Failed
        } else {
            Exit::Done
        };
        show(&diagnostics, output)?;
        Ok(exit)
    }
}

fn show(diagnostics: &[Diagnostic], output: Format) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match output {
        Format::Text => {
            for diagnostic in diagnostics {
                writeln!(stdout, "{diagnostic}")?;
            }
            writeln!(io::stderr(), "{}", Counts::count(diagnostics).summary())?;
        }
        Format::Json => {
            serde_json::to_writer_pretty(&mut stdout, &document(diagnostics))?;
            writeln!(stdout)?;
        }
        Format::Sarif => {
            serde_json::to_writer_pretty(&mut stdout, &sarif::document(diagnostics))?;
            writeln!(stdout)?;
        }
    }
    Ok(())
}

/// The documents of a folder with CRDs, and the errors of files that cannot be read.
#[derive(Default)]
struct Crds {
    documents: Vec<(PathBuf, Value)>,
    /// The errors of the other files.
    diagnostics: Vec<Diagnostic>,
}

impl Crds {
    fn read(folder: &Path) -> Self {
        let mut crds = Self::default();
        match install::manifest_files(folder) {
            Ok(files) => files.iter().for_each(|file| crds.file(file)),
            Err(error) => crds.unreadable(folder, error.root_cause()),
        }
        crds
    }

    fn file(&mut self, file: &Path) {
        match regular_file::read_text(file) {
            Ok(text) => {
                let diagnostics = Diagnostics::new(file);
                let documents = diagnostics.parse_all(&text);
                let documents = documents.iter().map(Node::to_value);
                self.documents
                    .extend(documents.map(|document| (file.to_owned(), document)));
                self.diagnostics.extend(diagnostics.into_vec());
            }
            Err(error) => self.unreadable(file, &error),
        }
    }

    fn unreadable(&mut self, path: &Path, error: &dyn Error) {
        let message = format!("cannot be read: {error}");
        self.diagnostics
            .push(Diagnostic::error(path, 0, 0, message));
    }
}

/// Reports the fields that roles use and that the CRDs do not define.
fn fields(project: &role::Project, roles_dir: &Path, crds: &[(PathBuf, Value)]) -> Vec<Diagnostic> {
    let mut diagnostics = Vec::new();
    for watch in &project.watches {
        let schema = crds.iter().find_map(|(_, crd)| schema(crd, &watch.gvk));
        let role = project.roles.get(&watch.role);
        if let (Some(schema), Some(role)) = (schema, role) {
            let folder = roles_dir.join(&*watch.role);
            for diagnostic in role::unknown_fields(role, &folder, schema) {
                if !diagnostics.contains(&diagnostic) {
                    diagnostics.push(diagnostic);
                }
            }
        }
    }
    diagnostics
}

/// Returns the schema of a kind, if the CRD defines it.
fn schema<'c>(crd: &'c Value, gvk: &Gvk) -> Option<&'c Value> {
    let spec = &crd["spec"];
    let is_it = spec["group"] == *gvk.group && spec["names"]["kind"] == *gvk.kind;
    let mut versions = spec["versions"].as_array().filter(|_| is_it)?.iter();
    let version = versions.find(|version| version["name"] == *gvk.version)?;
    version.pointer("/schema/openAPIV3Schema")
}

/// Builds the JSON document. It always has the same keys.
fn document(diagnostics: &[Diagnostic]) -> serde_json::Value {
    let Counts {
        errors,
        warnings,
        notes,
    } = Counts::count(diagnostics);
    json!({"errors": errors, "warnings": warnings, "notes": notes, "problems": diagnostics})
}

/// The number of diagnostics by severity.
struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
}

impl Counts {
    fn count(diagnostics: &[Diagnostic]) -> Self {
        let count = |severity| {
            let such = diagnostics
                .iter()
                .filter(|diagnostic| diagnostic.severity == severity);
            such.count()
        };
        Self {
            errors: count(Severity::Error),
            warnings: count(Severity::Warning),
            notes: count(Severity::Note),
        }
    }

    /// `2 errors, 1 warning`
    fn summary(&self) -> String {
        let counts = [
            (self.errors, "error"),
            (self.warnings, "warning"),
            (self.notes, "note"),
        ];
        let counts = counts.into_iter().filter(|(count, _)| *count > 0);
        let parts: Vec<_> = counts
            .map(|(count, name)| format!("{count} {name}{}", if count == 1 { "" } else { "s" }))
            .collect();
        if parts.is_empty() {
            "no errors or warnings".to_owned()
        } else {
            parts.join(", ")
        }
    }
}
