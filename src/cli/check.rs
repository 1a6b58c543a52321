//! `rhai-operator check`: everything that is wrong with the project, at once.
//!
//! The findings are the data of this command and go to stdout; the summary goes to stderr.

use std::error::Error;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use serde_json::{Value, json};

use super::output::Output;
use super::project::{Project, folder};
use super::{Exit, install};
use crate::model::findings::Findings;
use crate::model::problem::Severity;
use crate::model::yaml::Node;
use crate::model::{Gvk, Problem};
use crate::regular_file;
use crate::role::{self, Toolchain};
use crate::watches::Environment;

/// What to check.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    project: Project,
    /// Folder whose `crds` tell which fields the custom resources have; without it ./deploy, if there is
    /// one.
    #[arg(long, value_name = "DIR", env = "RHAI_OPERATOR_DEPLOY_DIR")]
    deploy_dir: Option<PathBuf>,
    /// How the findings are written.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

impl Options {
    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        let Self {
            project,
            deploy_dir,
            output,
        } = self;
        let Project {
            watches_file,
            roles_dir,
            allow_env: _,
            allow_http: _,
        } = project;
        let deploy_dir = folder(deploy_dir.as_deref(), "--deploy-dir", "./deploy")?;
        let crds = Crds::read(&deploy_dir.join("crds"));
        let environment = Environment::of_process();
        let loaded = role::Project::load(&watches_file, &roles_dir, &environment, toolchain);
        let (mut problems, fields) = match loaded {
            Ok(project) => {
                let fields = fields(&project, &roles_dir, &crds.documents);
                (project.notes, fields)
            }
            Err(problems) => (problems, Vec::new()),
        };
        problems.extend(crds.problems);
        problems.extend(fields);
        let exit = if problems.iter().any(Problem::is_error) {
            Exit::Failed
        } else {
            Exit::Done
        };
        let mut stdout = io::stdout().lock();
        match output {
            Output::Text => {
                for problem in &problems {
                    writeln!(stdout, "{problem}")?;
                }
                writeln!(io::stderr(), "{}", Counts::of(&problems).summary())?;
            }
            Output::Json => {
                serde_json::to_writer_pretty(&mut stdout, &document(&problems))?;
                writeln!(stdout)?;
            }
        }
        Ok(exit)
    }
}

/// What the files of a folder for CRDs hold, as far as they can be read.
#[derive(Default)]
struct Crds {
    documents: Vec<Value>,
    /// Why the rest cannot.
    problems: Vec<Problem>,
}

impl Crds {
    fn read(folder: &Path) -> Self {
        let mut crds = Self::default();
        match install::manifests(folder) {
            Ok(files) => files.iter().for_each(|file| crds.file(file)),
            Err(error) => crds.unreadable(folder, error.root_cause()),
        }
        crds
    }

    fn file(&mut self, file: &Path) {
        match regular_file::read_text(file) {
            Ok(text) => {
                let findings = Findings::new(file);
                let documents = findings.parse_all(&text);
                self.documents.extend(documents.iter().map(Node::to_value));
                self.problems.extend(findings.into_problems());
            }
            Err(error) => self.unreadable(file, &error),
        }
    }

    fn unreadable(&mut self, path: &Path, error: &dyn Error) {
        let message = format!("cannot be read: {error}");
        self.problems.push(Problem::error(path, 0, 0, message));
    }
}

/// The fields that roles use and that the CRDs do not have.
fn fields(project: &role::Project, roles_dir: &Path, crds: &[Value]) -> Vec<Problem> {
    let mut problems = Vec::new();
    for watch in &project.watches {
        let schema = crds.iter().find_map(|crd| schema(crd, &watch.gvk));
        let role = project.roles.get(&watch.role);
        if let (Some(schema), Some(role)) = (schema, role) {
            let folder = roles_dir.join(&*watch.role);
            for problem in role::unknown_fields(role, &folder, schema) {
                if !problems.contains(&problem) {
                    problems.push(problem);
                }
            }
        }
    }
    problems
}

/// The schema that a CRD has for a kind.
fn schema<'c>(crd: &'c Value, gvk: &Gvk) -> Option<&'c Value> {
    let spec = &crd["spec"];
    let is_it = spec["group"] == *gvk.group && spec["names"]["kind"] == *gvk.kind;
    let mut versions = spec["versions"].as_array().filter(|_| is_it)?.iter();
    let version = versions.find(|version| version["name"] == *gvk.version)?;
    version.pointer("/schema/openAPIV3Schema")
}

/// The JSON document; the same keys whatever was found.
fn document(problems: &[Problem]) -> serde_json::Value {
    let Counts {
        errors,
        warnings,
        notes,
    } = Counts::of(problems);
    json!({"errors": errors, "warnings": warnings, "notes": notes, "problems": problems})
}

/// How many findings there are of each kind.
struct Counts {
    errors: usize,
    warnings: usize,
    notes: usize,
}

impl Counts {
    fn of(problems: &[Problem]) -> Self {
        let count = |severity| {
            let such = problems
                .iter()
                .filter(|problem| problem.severity == severity);
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
            "nothing is wrong".to_owned()
        } else {
            parts.join(", ")
        }
    }
}
