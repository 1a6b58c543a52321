//! `rhai-operator check`: everything that is wrong with the project, at once.
//!
//! The findings are the data of this command and go to stdout; the summary goes to stderr.

use std::fs;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use clap::Args;
use serde_json::{Value, json};

use super::output::Output;
use super::project::Project;
use super::{Exit, install};
use crate::model::problem::Severity;
use crate::model::{Gvk, Problem, yaml};
use crate::role::{self, Toolchain};
use crate::watches::Environment;

/// What to check.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    project: Project,
    /// Folder whose `crds` tell which fields the custom resources have.
    #[arg(
        long,
        value_name = "DIR",
        env = "RHAI_OPERATOR_DEPLOY_DIR",
        default_value = "./deploy"
    )]
    deploy_dir: PathBuf,
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
        let environment = Environment::of_process();
        let loaded = role::Project::load(&watches_file, &roles_dir, &environment, toolchain);
        let problems = match loaded {
            Ok(project) => {
                let fields = fields(&project, &roles_dir, &deploy_dir)?;
                project.notes.into_iter().chain(fields).collect()
            }
            Err(problems) => problems,
        };
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

/// The fields that roles use and that the CRDs of the deploy folder do not have.
fn fields(
    project: &role::Project,
    roles_dir: &Path,
    deploy_dir: &Path,
) -> anyhow::Result<Vec<Problem>> {
    let mut crds = Vec::new();
    for file in install::manifests(&deploy_dir.join("crds"))? {
        let text = fs::read_to_string(&file);
        let text = text.with_context(|| format!("cannot read {}", file.display()))?;
        let documents = yaml::parse_all(&text);
        crds.extend(documents.with_context(|| format!("{} is no YAML", file.display()))?);
    }
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
    Ok(problems)
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
