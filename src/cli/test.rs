//! `rhai-operator test`: the scenarios of molecule-tests/.
//!
//! The report is the data of this command and goes to stdout; the summary goes to stderr.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Context;
use clap::Args;

use super::limits::RunLimits;
use super::logging::{DefaultFilter, Logging};
use super::output::Output;
use super::project::{Project, existing_folder};
use super::{Exit, print_diagnostics};
use crate::cluster::connect::{self, Source, connect};
use crate::role::Toolchain;
use crate::scenario::{Report, Suite, SuiteOptions, Target, TestedOperator};
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
    /// The folder with the CRDs that every scenario has; without it ./deploy/crds, if there is one.
    #[arg(long, value_name = "DIR")]
    crds_dir: Option<PathBuf>,
    /// Write golden snapshots as they are now instead of comparing with them.
    #[arg(long)]
    update: bool,
    /// How the report is written.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
    /// Write a report in JUnit's format too.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    project: Project,
    /// Kubeconfig file of the cluster to play on; without it and a context, the API server in this process.
    #[arg(long, value_name = "FILE", env = "RHAI_OPERATOR_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, for a cluster to play on.
    #[arg(long, value_name = "NAME", env = "RHAI_OPERATOR_CONTEXT")]
    context: Option<String>,
    #[command(flatten)]
    limits: RunLimits,
    #[command(flatten)]
    logging: Logging,
}

impl Options {
    pub(super) fn run(self, toolchain: Toolchain) -> anyhow::Result<Exit> {
        let Self {
            scenarios,
            tests_dir,
            crds_dir,
            update,
            output,
            junit,
            project,
            kubeconfig,
            context,
            limits,
            logging,
        } = self;
        project.check_flags()?;
        let crds_dir =
            existing_folder(crds_dir.as_deref(), "--crds-dir", "./deploy/crds")?.to_owned();
        let Project {
            watches_file,
            roles_dir,
            allow_env,
            allow_http: _,
        } = project;
        logging.init(DefaultFilter::Nothing)?;
        let options = SuiteOptions {
            tests_dir,
            crds_dir,
            names: scenarios,
            update,
        };
        let operator = TestedOperator {
            watches_file,
            roles_dir,
            environment: Environment::of_process(),
            allow_env,
            limits: limits.into(),
            toolchain,
        };
        let target = target(kubeconfig, context)?;
        let suite = match Suite::load(&options, operator, target) {
            Ok(suite) => suite,
            Err(diagnostics) => {
                print_diagnostics(&diagnostics)?;
                return Ok(Exit::Failed);
            }
        };
        let report = suite.run();
        show(&report, output)?;
        if let Some(file) = junit {
            let written = std::fs::write(&file, report.junit());
            written.with_context(|| format!("cannot write {}", file.display()))?;
        }
        Ok(if report.failed() == 0 {
            Exit::Done
        } else {
            Exit::Failed
        })
    }
}

/// A cluster only where one is named by a flag: nobody's current context is a place for tests.
/// One that cannot be reached is told once, and not by each scenario.
fn target(kubeconfig: Option<PathBuf>, context: Option<String>) -> anyhow::Result<Target> {
    if kubeconfig.is_none() && context.is_none() {
        return Ok(Target::Embedded);
    }
    let source = Source::Configured {
        kubeconfig: kubeconfig.clone(),
        context: context.clone(),
    };
    super::runtime(super::cpus())?.block_on(connect(connect::Options {
        source,
        ..connect::Options::default()
    }))?;
    Ok(Target::Cluster {
        kubeconfig,
        context,
    })
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
