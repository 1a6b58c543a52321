//! `rhai-operator dev`: the operator on an API server of its own, in one process, with no cluster.
//!
//! The embedded API server listens on loopback, so that kubectl works beside it. The project's CRDs and
//! samples are applied, the operator runs on it, and changed files are picked up: those of the roles as in a
//! cluster, and the manifests too.

mod kubeconfig;
mod manifests;
mod private_file;
mod screen;
mod state;
mod view;

use std::fs::OpenOptions;
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Context;
use clap::Args;
use clap::builder::NonEmptyStringValueParser;
use tokio_util::sync::CancellationToken;

use self::kubeconfig::Kubeconfig;
use self::manifests::AppliedManifests;
use self::state::StateFile;
use self::view::View;
use super::Exit;
use super::limits::RunLimits;
use super::logging::{DefaultFilter, Logging};
use super::project::{self, Project};
use crate::clock::{self, Clock};
use crate::cluster::connect::{self, Source, connect};
use crate::controller::RunRate;
use crate::operator;
use crate::regular_file;
use crate::role::Toolchain;
use crate::server::Address;
use crate::watches::Environment;
use embedded_apiserver::{self as apiserver, ApiServer, AuditLog, Trust, User};

/// The concurrent runs of one kind. A developer's machine has no other users.
const CONCURRENCY: usize = 8;
/// The name of the operator's field manager and user.
const NAME: &str = "rhai-operator";
/// The time that a shutdown waits for runs.
const DRAIN: Duration = Duration::from_secs(5);
/// The shortest time between two drawings of the view.
const FRAME: Duration = Duration::from_millis(100);

/// The flags of `dev`.
#[derive(Debug, Args)]
pub(super) struct Options {
    #[command(flatten)]
    project: Project,
    #[command(flatten)]
    manifests: project::DeployFolder,
    /// Address of the API server. Port 0 selects a free port.
    #[arg(long, value_name = "ADDRESS", default_value = "127.0.0.1:0", value_parser = address)]
    address: Address,
    /// File to write the kubeconfig to. Default: a file in a private folder, deleted when the command ends.
    #[arg(long, value_name = "FILE")]
    kubeconfig_out: Option<PathBuf>,
    /// Token of the administrator in the kubeconfig. Default: a random token.
    #[arg(
        long,
        value_name = "TOKEN",
        env = "RHAI_OPERATOR_ADMIN_TOKEN",
        value_parser = NonEmptyStringValueParser::new()
    )]
    admin_token: Option<String>,
    /// File with CA certificates, in PEM. A client certificate that one of them signed authenticates a user:
    /// its common name is the name of the user, and its organizations are the groups.
    #[arg(long, value_name = "FILE")]
    client_ca_file: Option<PathBuf>,
    /// File to load the objects from, if it exists, and to save them to at the end. If it exists, the samples
    /// are not applied until they change.
    #[arg(long, value_name = "FILE")]
    state: Option<PathBuf>,
    /// File to append an audit event to for each answered request.
    #[arg(long, value_name = "FILE")]
    audit_log_path: Option<PathBuf>,
    /// Serve the API only: run no operator, and apply no CRDs and no samples.
    #[arg(long)]
    api_only: bool,
    #[command(flatten)]
    limits: RunLimits,
    #[command(flatten)]
    logging: Logging,
}

/// Parses an address to listen on. Unlike the addresses of other servers, it cannot be `0` for none.
fn address(text: &str) -> Result<Address, &'static str> {
    let address = Address::parse(text).ok().flatten();
    address.ok_or("expected HOST:PORT or :PORT, as in 127.0.0.1:8443")
}

impl Options {
    pub(super) fn run(self, toolchain: Toolchain) -> anyhow::Result<Exit> {
        self.project.check_flags()?;
        let deploy_dir = self.manifests.deploy_dir()?.to_owned();
        let watches_file = &self.project.watches_file;
        anyhow::ensure!(
            self.api_only || watches_file.exists(),
            "{} does not exist\n  hint: run it in the folder of a project, name the file with \
             --watches-file, or serve the API alone with --api-only",
            watches_file.display()
        );
        let view = View::new(io::stdout().is_terminal() && !self.api_only);
        match view.log().filter(|_| io::stderr().is_terminal()) {
            Some(lines) => self
                .logging
                .init_to(move || lines.clone(), DefaultFilter::NoRuns)?,
            None => self.logging.init(DefaultFilter::NoRuns)?,
        }
        super::runtime(super::cpus())?.block_on(self.serve(&deploy_dir, toolchain, view))
    }

    async fn serve(
        self,
        deploy_dir: &Path,
        toolchain: Toolchain,
        view: View,
    ) -> anyhow::Result<Exit> {
        // Before anybody can know that there is something to stop.
        let shutdown = operator::shutdown()?;
        let server = ApiServer::new(apiserver::Options {
            audit: self.audit_log()?,
            ..apiserver::Options::default()
        });
        let state = self.state.as_deref().map(StateFile::lock).transpose()?;
        let is_new = match &state {
            Some(state) => !state.load(&server)?,
            None => true,
        };
        let listener = self.address.listen().await;
        let listener = listener.with_context(|| format!("cannot listen on {}", self.address))?;
        let token = self.admin_token.clone().unwrap_or_else(kubeconfig::token);
        server.add_token(&token, User::admin());
        let listening = server.serve_tls(listener, self.trust()?)?;
        let kubeconfig = Kubeconfig {
            address: kubeconfig::client_address(listening.address),
            authority: listening.authority.as_deref().unwrap_or_default(),
            token: &token,
        };
        let kubeconfig = kubeconfig.write(self.kubeconfig_out.as_deref())?;
        view.serving(
            kubeconfig::client_address(listening.address),
            kubeconfig.path(),
        )?;
        let driving = tokio::spawn(server.clone().drive());
        let result = if self.api_only {
            shutdown.cancelled().await;
            Ok(Exit::Done)
        } else {
            let manifests = (deploy_dir, is_new);
            self.operate(&server, manifests, toolchain, &view, shutdown)
                .await
        };
        driving.abort();
        if let Some(state) = state {
            state.save(&server)?;
        }
        result
    }

    /// Opens the audit log, if one was requested.
    fn audit_log(&self) -> anyhow::Result<Option<AuditLog>> {
        let Some(file) = &self.audit_log_path else {
            return Ok(None);
        };
        let mut options = OpenOptions::new();
        options.append(true).create(true);
        let opened = regular_file::open_private(file, &options);
        let opened = opened.with_context(|| format!("cannot write to {}", file.display()))?;
        Ok(Some(AuditLog::new(opened)))
    }

    /// Reads the CAs whose client certificates authenticate users.
    fn trust(&self) -> anyhow::Result<Option<Trust>> {
        let Some(file) = &self.client_ca_file else {
            return Ok(None);
        };
        let read = regular_file::read(file, regular_file::LIMIT);
        let read = read.and_then(|pem| Trust::in_authorities(&pem));
        let trust =
            read.with_context(|| format!("cannot use the CA certificates in {}", file.display()));
        trust.map(Some)
    }

    /// Applies the project's manifests and runs the operator.
    async fn operate(
        &self,
        server: &ApiServer,
        (deploy_dir, samples): (&Path, bool),
        toolchain: Toolchain,
        view: &View,
        shutdown: CancellationToken,
    ) -> anyhow::Result<Exit> {
        let source = Source::Client(server.client());
        let connection = connect(connect::Options {
            source: source.clone(),
            ..connect::Options::default()
        });
        let cluster = connection.await?.cluster;
        let manifests = AppliedManifests::apply(&cluster, deploy_dir, samples).await?;
        let options = operator::Options {
            watches_file: self.project.watches_file.clone(),
            roles_dir: self.project.roles_dir.clone(),
            environment: Environment::of_process(),
            allow_env: self.project.allow_env.clone(),
            source,
            clock: Clock::system(),
            observer: Some(Arc::new(view.clone())),
            metrics_address: None,
            health_address: None,
            name: NAME.to_owned(),
            election: None,
            max_concurrent: CONCURRENCY,
            period: operator::DEFAULT_PERIOD,
            run_rate: RunRate::default(),
            drain: DRAIN,
            limits: self.limits.into(),
        };
        let running = operator::run_until(options, toolchain, shutdown);
        let following = manifests.follow(&cluster);
        tokio::pin!(running, following);
        loop {
            tokio::select! {
                result = &mut running => {
                    view.draw()?;
                    return super::run::exit_code(result);
                }
                () = &mut following => {}
                () = clock::sleep(FRAME) => view.draw()?,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_api_is_served_where_other_servers_can_be() {
        for text in [":8443", "localhost:0", "127.0.0.1:0"] {
            assert_eq!(super::address(text).unwrap().to_string(), text);
        }
        for text in ["0", "8443", "localhost"] {
            let error = super::address(text).unwrap_err();
            assert!(error.starts_with("expected HOST:PORT"), "{error}");
        }
    }
}
