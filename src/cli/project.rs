//! Flags that name the project: watches.yaml, the roles, and their access outside the cluster.

use std::path::{Path, PathBuf};

use clap::Args;

/// The files of the project, and the access of its roles outside the cluster.
#[derive(Clone, Debug, Args)]
pub(super) struct Project {
    /// File that maps kinds to roles.
    #[arg(
        long,
        value_name = "FILE",
        env = "RHAI_OPERATOR_WATCHES_FILE",
        default_value = "./watches.yaml"
    )]
    pub(super) watches_file: PathBuf,
    /// Folder with one subfolder per role.
    #[arg(
        long,
        value_name = "DIR",
        env = "RHAI_OPERATOR_ROLES_DIR",
        default_value = "./roles"
    )]
    pub(super) roles_dir: PathBuf,
    /// Names of environment variables that roles can read if their meta/main.yaml requests them, separated
    /// by commas. A trailing `*` matches all names with this prefix.
    #[arg(
        long,
        value_name = "NAMES",
        env = "RHAI_OPERATOR_ALLOW_ENV",
        value_delimiter = ','
    )]
    pub(super) allow_env: Vec<String>,
    /// Reserved: roles cannot send HTTP requests yet. The command refuses any value.
    #[arg(
        long,
        value_name = "HOSTS",
        env = "RHAI_OPERATOR_ALLOW_HTTP",
        value_delimiter = ','
    )]
    pub(super) allow_http: Vec<String>,
}

/// The folder with the manifests of the project.
#[derive(Clone, Debug, Args)]
pub(super) struct DeployFolder {
    /// Folder with the CRDs (`crds`) and the sample objects (`samples`) of the project. Default: ./deploy, if
    /// it exists.
    #[arg(long, value_name = "DIR", env = "RHAI_OPERATOR_DEPLOY_DIR")]
    pub(super) deploy_dir: Option<PathBuf>,
}

impl DeployFolder {
    /// Returns the folder. Fails if the flag names a folder that does not exist.
    pub(super) fn deploy_dir(&self) -> anyhow::Result<&Path> {
        existing_folder(self.deploy_dir.as_deref(), "--deploy-dir", "./deploy")
    }
}

/// Returns the folder that a flag names, which must exist, or the default, which need not exist.
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
        "{flag}: cannot find the folder {}",
        folder.display()
    );
    Ok(folder)
}

impl Project {
    /// Returns the files of the project in the current folder.
    pub(super) fn of_current_folder() -> Self {
        Self {
            watches_file: "watches.yaml".into(),
            roles_dir: "roles".into(),
            allow_env: Vec::new(),
            allow_http: Vec::new(),
        }
    }

    /// Refuses flags that have no effect yet.
    pub(super) fn check_flags(&self) -> anyhow::Result<()> {
        anyhow::ensure!(
            self.allow_http.is_empty(),
            "--allow-http has no effect: roles have no function `http` yet"
        );
        Ok(())
    }
}
