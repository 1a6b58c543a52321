//! Flags that name the project: watches.yaml, the roles, and what these may reach outside the cluster.

use std::path::{Path, PathBuf};

use clap::Args;

/// Where the project is and what its roles may reach.
#[derive(Clone, Debug, Args)]
pub(super) struct Project {
    /// The file that maps kinds to roles.
    #[arg(
        long,
        value_name = "FILE",
        env = "RHAI_OPERATOR_WATCHES_FILE",
        default_value = "./watches.yaml"
    )]
    pub(super) watches_file: PathBuf,
    /// The folder with one folder per role.
    #[arg(
        long,
        value_name = "DIR",
        env = "RHAI_OPERATOR_ROLES_DIR",
        default_value = "./roles"
    )]
    pub(super) roles_dir: PathBuf,
    /// Environment variables that roles may read if their meta/main.yaml asks for them; commas separate,
    /// a trailing `*` stands for any ending.
    #[arg(
        long,
        value_name = "NAMES",
        env = "RHAI_OPERATOR_ALLOW_ENV",
        value_delimiter = ','
    )]
    pub(super) allow_env: Vec<String>,
    /// Hosts that roles may send HTTP requests to if their meta/main.yaml asks for them; commas separate.
    #[arg(
        long,
        value_name = "HOSTS",
        env = "RHAI_OPERATOR_ALLOW_HTTP",
        value_delimiter = ','
    )]
    pub(super) allow_http: Vec<String>,
}

/// What the project brings to an API server in this process.
#[derive(Clone, Debug, Args)]
pub(super) struct DeployFolder {
    /// The folder with the project's `crds`, which the API server in this process holds, and `samples`,
    /// which dev applies too; without it ./deploy, if there is one.
    #[arg(long, value_name = "DIR", env = "RHAI_OPERATOR_DEPLOY_DIR")]
    deploy_dir: Option<PathBuf>,
}

impl DeployFolder {
    /// The folder; an error if one is named that is not there.
    pub(super) fn deploy_dir(&self) -> anyhow::Result<&Path> {
        existing_folder(self.deploy_dir.as_deref(), "--deploy-dir", "./deploy")
    }
}

/// The folder that a flag names, which must exist, or the usual one, which need not.
pub(super) fn existing_folder<'a>(
    named: Option<&'a Path>,
    flag: &str,
    usual: &'static str,
) -> anyhow::Result<&'a Path> {
    let Some(folder) = named else {
        return Ok(Path::new(usual));
    };
    anyhow::ensure!(
        folder.is_dir(),
        "{flag}: there is no folder {}",
        folder.display()
    );
    Ok(folder)
}

impl Project {
    /// Refuses what the flags promise and nothing keeps.
    pub(super) fn check_flags(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.allow_http.is_empty(),
            "--allow-http: roles have no `http` function yet"
        );
        Ok(())
    }
}
