//! `rhai-operator test`: runs the scenarios of molecule-tests/.
//!
//! The report is the data of this command and goes to stdout; the summary goes to stderr.

use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use anyhow::Context;
use clap::Args;

use super::limits::RunLimits;
use super::logging::{DefaultFilter, Logging};
use super::output::Output;
use super::project::{Project, existing_folder};
use super::{Exit, print_diagnostics};
use crate::cluster::connect::{self, Source, connect};
use crate::role::Toolchain;
use crate::scenario::{PermissionRecorder, Report, Suite, SuiteOptions, Target, TestedOperator};
use crate::watches::Environment;

/// The scenarios to run, and their target.
#[derive(Debug, Args)]
pub(super) struct Options {
    /// Scenarios to run. Default: all.
    #[arg(value_name = "SCENARIO")]
    scenarios: Vec<String>,
    /// Folder with one folder per scenario.
    #[arg(long, value_name = "DIR", default_value = "./molecule-tests")]
    tests_dir: PathBuf,
    /// Folder with the CRDs that each scenario gets. Default: ./deploy/crds, if it exists.
    #[arg(long, value_name = "DIR")]
    crds_dir: Option<PathBuf>,
    /// Write the golden snapshots instead of comparing with them.
    #[arg(long)]
    update: bool,
    /// Format of the report.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
    /// Also write the permissions that the operator's requests needed to this file, as rules of RBAC. Put its
    /// name into `recorded` of deploy/settings.yaml, so that `generate rbac` uses it.
    #[arg(long, value_name = "FILE")]
    record_rbac: Option<PathBuf>,
    /// Also write a JUnit report to this file.
    #[arg(long, value_name = "FILE")]
    junit: Option<PathBuf>,
    #[command(flatten)]
    project: Project,
    /// Kubeconfig file of the cluster to test on. Without this flag and --context, scenarios run on API
    /// servers in this process.
    #[arg(long, value_name = "FILE", env = "RHAI_OPERATOR_KUBECONFIG")]
    kubeconfig: Option<PathBuf>,
    /// Context of the kubeconfig, for tests on a cluster.
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
            record_rbac,
            project,
            kubeconfig,
            context,
            limits,
            logging,
        } = self;
        project.check_flags()?;
        let crds_dir = existing_folder(crds_dir.as_deref(), "--crds-dir", "./deploy/crds")?;
        let Project {
            watches_file,
            roles_dir,
            allow_env,
            allow_http: _,
        } = project;
        logging.init(DefaultFilter::Nothing)?;
        let options = SuiteOptions {
            tests_dir,
            crds_dir: crds_dir.to_owned(),
            names: scenarios,
            update,
        };
        let recorder = record_rbac
            .is_some()
            .then(Arc::<PermissionRecorder>::default);
        let operator = TestedOperator {
            watches_file,
            roles_dir,
            environment: Environment::of_process(),
            allow_env,
            limits: limits.into(),
            toolchain,
            recorder: recorder.clone(),
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
        if let (Some(file), Some(recorder)) = (record_rbac, recorder) {
            write_file(&file, &recorder.rules())?;
        }
        if let Some(file) = junit {
            write_file(&file, &report.junit())?;
        }
        Ok(exit(&report))
    }
}

fn exit(report: &Report) -> Exit {
    if report.failed() == 0 {
        Exit::Done
    } else {
        Exit::Failed
    }
}

fn write_file(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))
}

/// Returns the target that the flags name. The current context of a kubeconfig alone never becomes a
/// target. Fails if the cluster cannot be reached, so that not each scenario reports it.
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
