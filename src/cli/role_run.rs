//! `rhai-operator role run`: runs a role once and shows each call.
//!
//! The run is the operator's own ([`crate::reconcile`]), with status and pruning, but it adds no finalizer.
//! With `--plan`, each write is a dry run on the server. With `--against embedded`, the server is in this
//! process.

mod colors;
mod custom_resource;
mod field_override;
mod json_report;
mod lookup;
mod resource_kind;
mod step_flags;
mod steps;
mod text_report;

use std::io::{self, Write};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context as _;
use clap::{Args, ValueEnum};
use tokio_util::sync::CancellationToken;

use self::custom_resource::{CrRequest, FoundCr};
use self::step_flags::StepFlags;
use super::connection::Connection;
use super::explicit_flags::ExplicitFlags;
use super::limits::RunLimits;
use super::logging::{DefaultFilter, Logging};
use super::output::Output;
use super::project::{DeployFolder, Project};
use super::{Exit, install, print_diagnostics, usage_error};
use crate::clock::{self, Clock};
use crate::cluster::connect::{self, Source, connect};
use crate::model::{Outcome, Reason};
use crate::reconcile::{self, Context, Input, Mode, Report, StepSelection};
use crate::role::{self, Roles, Toolchain};
use crate::script::Pool;
use crate::watches::{Environment, Watch};
use embedded_apiserver::{self as apiserver, ApiServer};

/// The maximum time that the command waits for the server to accept Events.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(5);

/// The exit code that a shell reports for a process that SIGINT ended.
const INTERRUPTED: i32 = 130;

const EXIT_CODES: &str = "Exit codes: 0 done, 1 failed, 2 invalid arguments, 3 the role waits for an object, \
                          4 the plan has changes.";

/// The role to run, and its custom resource.
#[derive(Debug, Args)]
#[command(after_help = EXIT_CODES)]
pub(super) struct Options {
    #[command(flatten)]
    explicit_flags: ExplicitFlags,
    /// Name of the role.
    role: String,
    /// Custom resource: a YAML or JSON file (- for stdin), or KIND/NAME in the cluster.
    #[arg(long, value_name = "FILE|KIND/NAME")]
    cr: custom_resource::CrSource,
    /// Namespace of the custom resource. Default: that of the file, or else that of the context.
    #[arg(short, long, value_name = "NAME")]
    namespace: Option<String>,
    /// Set a field of the custom resource for this run, for example spec.size=3. The value is YAML.
    #[arg(long = "set", value_name = "PATH=VALUE")]
    set: Vec<field_override::FieldOverride>,
    /// Write nothing. Show what the run would create, change and delete, and exit with 4 if it would.
    #[arg(long)]
    plan: bool,
    #[command(flatten)]
    step_flags: StepFlags,
    /// Target of the run: a cluster, or an API server in this process with the CRDs of the project, the
    /// custom resource and the objects of --input.
    #[arg(long, value_name = "TARGET", default_value = "cluster")]
    against: Target,
    /// YAML file with objects that the API server in this process gets before the run.
    #[arg(long, value_name = "FILE")]
    input: Vec<PathBuf>,
    #[command(flatten)]
    manifests: DeployFolder,
    /// Format of the report.
    #[arg(short, long, value_name = "FORMAT", default_value = "text")]
    output: Output,
    #[command(flatten)]
    project: Project,
    #[command(flatten)]
    connection: Connection,
    #[command(flatten)]
    limits: RunLimits,
    #[command(flatten)]
    logging: Logging,
}

/// The target of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Target {
    /// The cluster of the kubeconfig
    Cluster,
    /// An API server in this process
    Embedded,
}

impl Target {
    /// Returns the name of the target in messages.
    fn description(self) -> &'static str {
        match self {
            Self::Cluster => "the cluster",
            Self::Embedded => "the API server in this process",
        }
    }
}

impl Options {
    pub(super) fn run(self, toolchain: Toolchain) -> anyhow::Result<Exit> {
        self.logging.init(DefaultFilter::NoRuns)?;
        self.project.check_flags()?;
        if let Some(error) = self.conflicting_flags() {
            return Ok(usage_error(error)?);
        }
        let wanted = CrRequest::read(self.cr.clone())?;
        let environment = Environment::of_process();
        let Project {
            watches_file,
            roles_dir,
            ..
        } = &self.project;
        let project = role::Project::load(watches_file, roles_dir, &environment, &toolchain);
        let project = match project {
            Ok(project) => project,
            Err(diagnostics) => {
                print_diagnostics(&diagnostics)?;
                return Ok(Exit::Failed);
            }
        };
        let Some(role) = project.roles.get(&self.role) else {
            let names: Vec<&str> = project.roles.names().collect();
            return Err(role::NoSuchRole::new(&self.role, &names, roles_dir).into());
        };
        let selection = self.step_flags.resolve(role)?;
        let runtime = super::runtime(super::cpus())?;
        let pool = Arc::new(Pool::new(toolchain.engine, 1, runtime.handle().clone()));
        let (report, known) = runtime.block_on(self.run_once(&project, wanted, pool, selection))?;
        self.step_flags.check(&report, &self.role)?;
        self.show(&report, known)?;
        Ok(exit_code(&report, self.plan))
    }

    /// Returns an error message if flags contradict each other.
    fn conflicting_flags(&self) -> Option<&'static str> {
        match self.against {
            Target::Cluster if !self.input.is_empty() => {
                Some("--input requires --against embedded")
            }
            Target::Embedded if self.explicit_flags.contains("kubeconfig") => {
                Some("--kubeconfig requires --against cluster")
            }
            Target::Embedded if self.explicit_flags.contains("context") => {
                Some("--context requires --against cluster")
            }
            _ => None,
        }
    }

    /// Runs the role. Returns the report, and true if the cluster has the custom resource.
    async fn run_once(
        &self,
        project: &role::Project,
        wanted: CrRequest,
        pool: Arc<Pool>,
        selection: StepSelection,
    ) -> anyhow::Result<(Report, bool)> {
        let connect::Connection {
            cluster, namespace, ..
        } = self.connect_target().await?;
        let selected = lookup::Lookup {
            namespace: self.namespace.as_deref(),
            default_namespace: &namespace,
            set: &self.set,
            creates_missing: self.against == Target::Embedded,
            target: self.against.description(),
            watches: &project.watches,
            missing_kind_hint: &self.missing_kind_hint()?,
        };
        let FoundCr {
            mut cr,
            mut live,
            origin,
        } = custom_resource::find(&cluster, wanted, &selected).await?;
        if self.against == Target::Embedded && !live {
            let applied = install::apply_object(&cluster, &cr.value()).await;
            cr = Arc::unwrap_or_clone(applied.context(origin)?);
            live = true;
        }
        if !live {
            let object = cr.object_ref();
            writeln!(
                io::stderr(),
                "{object} is not in the cluster: its children get no owner reference"
            )?;
        }
        // When the embedded server answers a write, its controllers are done. Caches receive the events
        // later, so that a read from a cache could return an older object.
        let cluster = match self.against {
            Target::Embedded => cluster.with_live_reads(),
            Target::Cluster => cluster,
        };
        let mut context = Context::new(cluster, pool, Clock::system());
        context.allow_env.clone_from(&self.project.allow_env);
        context.selection = selection;
        context.limits = self.limits.into();
        let input = Input {
            watch: watch_for(&project.watches, &self.role, &cr.gvk),
            reason: if cr.deleting {
                Reason::Deleted
            } else {
                Reason::Requested
            },
            cr: Arc::new(cr),
            roles: Arc::<Roles>::clone(&project.roles),
            mode: if self.plan { Mode::Plan } else { Mode::Once },
            cancel: cancelled_by_ctrl_c(),
            history: Arc::default(),
        };
        let report = reconcile::reconcile(&context, input).await;
        tokio::select! {
            () = context.events.flush() => {}
            () = clock::sleep(FLUSH_TIMEOUT) => {}
        }
        Ok((report, live))
    }

    /// Returns the hint for a missing kind.
    fn missing_kind_hint(&self) -> anyhow::Result<String> {
        Ok(match self.against {
            Target::Cluster => "install its CRD (kubectl apply -f)".to_owned(),
            Target::Embedded => format!(
                "put its CRD into {}, or name the file with --input",
                self.manifests.deploy_dir()?.join("crds").display()
            ),
        })
    }

    /// Connects to the cluster, or creates an API server with the objects that the flags name.
    async fn connect_target(&self) -> anyhow::Result<connect::Connection> {
        let source = match self.against {
            Target::Cluster => self.connection.source(),
            Target::Embedded => {
                let server = ApiServer::new(apiserver::Options::default());
                Source::Client(server.client())
            }
        };
        let connection = connect(connect::Options {
            source,
            ..connect::Options::default()
        })
        .await
        .context("cannot connect to a cluster (--against embedded requires none)")?;
        if self.against == Target::Cluster {
            let host = &connection.host;
            let reached = connection.cluster.ping().await;
            reached.with_context(|| format!("the API server {host} does not answer"))?;
        } else {
            install::apply_crds(&connection.cluster, self.manifests.deploy_dir()?).await?;
            for file in &self.input {
                install::apply_file(&connection.cluster, file).await?;
            }
        }
        Ok(connection)
    }

    fn show(&self, report: &Report, live: bool) -> anyhow::Result<()> {
        let mut stdout = io::stdout().lock();
        match self.output {
            Output::Text => text_report::report(&mut stdout, report, &self.role, self.plan)?,
            Output::Json => {
                let document = json_report::report(report, &self.role, self.plan, live);
                serde_json::to_writer_pretty(&mut stdout, &document)?;
                writeln!(stdout)?;
            }
        }
        Ok(())
    }
}

/// Returns the settings of the entry for this kind and role, or else of the kind, or else the defaults.
fn watch_for(watches: &[Arc<Watch>], role: &str, gvk: &crate::model::Gvk) -> Arc<Watch> {
    let of_kind = || watches.iter().filter(|watch| watch.gvk.same_kind(gvk));
    let entry = of_kind()
        .find(|watch| &*watch.role == role)
        .or_else(|| of_kind().next());
    let mut watch = entry.map_or_else(|| Watch::new(gvk.clone(), role), |watch| (**watch).clone());
    watch.role = role.into();
    Arc::new(watch)
}

#[expect(clippy::exit, reason = "a second Ctrl-C ends the process at once")]
fn cancelled_by_ctrl_c() -> CancellationToken {
    let cancel = CancellationToken::new();
    let token = cancel.clone();
    tokio::spawn(async move {
        if tokio::signal::ctrl_c().await.is_ok() {
            token.cancel();
        }
        // A second Ctrl-C does not wait for the run.
        if tokio::signal::ctrl_c().await.is_ok() {
            std::process::exit(INTERRUPTED);
        }
    });
    cancel
}

fn exit_code(report: &Report, plan: bool) -> Exit {
    match &report.outcome {
        Outcome::Failed { .. }
        | Outcome::Stalled { .. }
        | Outcome::Conflict { .. }
        | Outcome::Cancelled => Exit::Failed,
        _ if plan && (report.status_written || !report.changes.is_empty()) => Exit::Planned,
        Outcome::Waiting { .. } => Exit::Waiting,
        Outcome::Done => Exit::Done,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Gvk;

    #[test]
    fn settings_are_those_of_the_kind_and_the_role_is_the_one_asked_for() {
        let gvk = Gvk::new("example.com", "v1", "Web");
        let entry = |role: &str, snake_case| {
            Arc::new(Watch {
                snake_case,
                ..Watch::new(gvk.clone(), role)
            })
        };
        let watches = [entry("other", false), entry("web", true)];
        assert!(watch_for(&watches, "web", &gvk).snake_case);
        let fallback = watch_for(&watches, "third", &gvk);
        assert!(!fallback.snake_case);
        assert_eq!(&*fallback.role, "third");
        let foreign = Gvk::new("example.com", "v1", "Else");
        assert_eq!(
            *watch_for(&watches, "web", &foreign),
            Watch::new(foreign.clone(), "web")
        );
    }
}
