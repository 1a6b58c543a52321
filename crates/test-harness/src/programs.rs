//! Client programs in Go and Python, built once under cargo's target folder.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use tokio::process::Command;
use tokio::sync::OnceCell;

use crate::run_folder::{repository, target};
use crate::{Case, MissingTool};

/// Builds the program that uses client-go, and returns its path.
pub async fn client_go() -> anyhow::Result<&'static Path> {
    static BUILT: OnceCell<PathBuf> = OnceCell::const_new();
    let build = async || {
        require("go", "version").await?;
        let binary = target().join("clients/client-go");
        let mut build = Command::new("go");
        // The flags are those of the Kubernetes build, so that both share compiled packages.
        build
            .args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath"])
            .args(["-ldflags", "-s -w", "-o"])
            .arg(&binary)
            .arg(".")
            .env("CGO_ENABLED", "0")
            .current_dir(sources("client-go"));
        output(build).await?;
        anyhow::Ok(binary)
    };
    BUILT.get_or_try_init(build).await.map(PathBuf::as_path)
}

/// Installs the Python client into a virtual environment, and returns its interpreter.
pub async fn python() -> anyhow::Result<&'static Path> {
    static INSTALLED: OnceCell<PathBuf> = OnceCell::const_new();
    let install = async || {
        require("python3", "--version").await?;
        let requirements = sources("python/requirements.txt");
        let environment = target().join("clients/python");
        let installed = environment.join("requirements.txt");
        let wanted = std::fs::read(&requirements)?;
        if std::fs::read(&installed).is_ok_and(|installed| installed == wanted) {
            return Ok(environment.join("bin/python"));
        }
        let mut create = Command::new("python3");
        create.args(["-m", "venv", "--clear"]).arg(&environment);
        output(create).await?;
        let mut install = Command::new(environment.join("bin/pip"));
        install
            .args([
                "install",
                "--quiet",
                "--disable-pip-version-check",
                "--no-deps",
            ])
            .args([
                "--only-binary",
                ":all:",
                "--require-hashes",
                "--requirement",
            ])
            .arg(&requirements);
        output(install).await?;
        // The file marks a complete environment.
        std::fs::write(&installed, wanted)?;
        anyhow::Ok(environment.join("bin/python"))
    };
    INSTALLED
        .get_or_try_init(install)
        .await
        .map(PathBuf::as_path)
}

/// Returns the path of the Python program.
pub fn python_script() -> PathBuf {
    sources("python/life_cycle.py")
}

fn sources(path: &str) -> PathBuf {
    repository("crates/test-harness/clients").join(path)
}

/// Runs a program as administrator, and returns its output without the names of the test.
pub async fn run(case: &Case, program: &Path, arguments: &[&Path]) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg(case.cluster.kubeconfig())
        .args([&case.namespace, &case.group]);
    let printed = output(command).await?;
    let printed = printed.replace(&case.group, "<group>");
    Ok(printed.replace(&case.namespace, "<namespace>"))
}

/// Checks that a tool is installed.
async fn require(program: &str, argument: &str) -> Result<(), MissingTool> {
    let mut command = Command::new(program);
    let command = command.arg(argument).stdin(Stdio::null());
    let ran = command.output().await;
    if ran.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    Err(MissingTool(format!("{program} is not installed")))
}

async fn output(mut command: Command) -> anyhow::Result<String> {
    let program = command
        .as_std()
        .get_program()
        .to_string_lossy()
        .into_owned();
    let command = command.stdin(Stdio::null()).kill_on_drop(true);
    let output = command.output().await.with_context(|| program.clone())?;
    let printed = String::from_utf8_lossy(&output.stdout).into_owned();
    let errors = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{program}:\n{printed}{errors}");
    Ok(printed)
}
