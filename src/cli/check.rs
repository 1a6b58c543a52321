//! `rhai-operator check`: everything that is wrong with the project, at once.
//!
//! The findings are the data of this command and go to stdout; the summary goes to stderr.

use std::io::{self, Write};

use clap::Args;
use serde_json::json;

use super::Exit;
use super::output::Output;
use super::project::Project;
use crate::model::Problem;
use crate::model::problem::Severity;
use crate::role::{self, Toolchain};
use crate::watches::Environment;

/// What to check.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    project: Project,
    /// How the findings are written.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
}

impl Options {
    pub(super) fn run(self, toolchain: &Toolchain) -> anyhow::Result<Exit> {
        let Self { project, output } = self;
        let Project {
            watches_file,
            roles_dir,
            allow_env: _,
            allow_http: _,
        } = project;
        let environment = Environment::of_process();
        let loaded = role::Project::load(&watches_file, &roles_dir, &environment, toolchain);
        let (exit, problems) = match loaded {
            Ok(project) => (Exit::Done, project.notes),
            Err(problems) => (Exit::Failed, problems),
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
