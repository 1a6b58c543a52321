//! `rhai-operator test`: the scenarios of molecule-tests/.
//!
//! The report is the data of this command and goes to stdout; the summary goes to stderr.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::Exit;
use super::connection::Connection;
use super::logging::{Logging, Unasked};
use super::output::Output;
use super::project::Project;
use crate::cluster::connect::Source;
use crate::role::Toolchain;
use crate::scenario::{Ground, Place, Report, Subject, Suite};
use crate::watches::Environment;

/// Which scenarios to play, and where.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Scenarios to play; all without any.
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// The folder with one folder per scenario.
    #[arg(long, value_name = "DIR", default_value = "./molecule-tests")]
    tests_dir: PathBuf,
    /// The folder with the CRDs that every scenario has.
    #[arg(long, value_name = "DIR", default_value = "./deploy/crds")]
    crds_dir: PathBuf,
    /// How the report is written.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
    /// Write a report in JUnit's format too.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    project: Project,
    #[command(flatten)]
    connection: Connection,
    /// What to log beside the report.
    #[command(flatten)]
    logging: Logging,
}

impl Options {
    pub(super) fn run(self, toolchain: Toolchain) -> anyhow::Result<Exit> {
        let Self {
            scenarios,
            tests_dir,
            crds_dir,
            output,
            junit,
            project,
            connection,
            logging,
        } = self;
        let Project {
            watches_file,
            roles_dir,
            allow_env,
            allow_http: _,
        } = project;
        logging.init(Unasked::Nothing)?;
        let place = Place {
            tests_dir,
            crds_dir,
            names: scenarios,
        };
        let subject = Subject {
            watches_file,
            roles_dir,
            environment: Environment::of_process(),
            allow_env,
            toolchain,
        };
        let suite = match Suite::load(&place, subject, ground(&connection)) {
            Ok(suite) => suite,
            Err(problems) => {
                let mut stderr = io::stderr().lock();
                for problem in problems {
                    writeln!(stderr, "{problem}")?;
                }
                return Ok(Exit::Failed);
            }
        };
        let report = suite.play();
        if let Some(file) = junit {
            let written = std::fs::write(&file, report.junit());
            written.with_context(|| format!("cannot write {}", file.display()))?;
        }
        show(&report, output)?;
        Ok(if report.failed() == 0 {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}

/// A cluster only where one is named by a flag: nobody's current context is a place for tests.
fn ground(connection: &Connection) -> Ground {
    match connection.source() {
        Source::Configured {
            kubeconfig,
            context,
        } if kubeconfig.is_some() || context.is_some() => Ground::Cluster {
            kubeconfig,
            context,
        },
        _ => Ground::Embedded,
    }
}

fn show(report: &Report, output: Output) -> anyhow::Result<()> {
    let mut stdout = io::stdout().lock();
    match output {
        Output::Text => {
            write!(stdout, "{}", report.text())?;
            writeln!(io::stderr(), "{}", report.summary())?;
        }
        Output::Json => {
            serde_json::to_writer_pretty(&mut stdout, &report.json())?;
            writeln!(stdout)?;
        }
    }
    Ok(())
}
