//! Programs in other languages: built once, under cargo's target folder, and run.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::Context;
use tokio::process::Command;
use tokio::sync::OnceCell;

use super::folder;
use crate::harness::{Case, Missing, target};

/// The program of client-go.
pub(super) async fn client_go() -> anyhow::Result<&'static Path> {
    static BUILT: OnceCell<PathBuf> = OnceCell::const_new();
    let build = async || {
        has("go", "version").await?;
        let binary = target().join("clients/client-go");
        let mut build = Command::new("go");
        // As Kubernetes is built, with which it shares what is compiled.
        build
            .args(["build", "-mod=readonly", "-buildvcs=false", "-trimpath"])
            .args(["-ldflags", "-s -w", "-o"])
            .arg(&binary)
            .arg(".")
            .env("CGO_ENABLED", "0")
            .current_dir(folder().join("client-go"));
        output(build).await?;
        anyhow::Ok(binary)
    };
    BUILT.get_or_try_init(build).await.map(PathBuf::as_path)
}

/// A Python with the client.
pub(super) async fn python() -> anyhow::Result<&'static Path> {
    static MADE: OnceCell<PathBuf> = OnceCell::const_new();
    let make = async || {
        has("python3", "--version").await?;
        let requirements = folder().join("python/requirements.txt");
        let environment = target().join("clients/python");
        let installed = environment.join("requirements.txt");
        let wanted = std::fs::read(&requirements)?;
        if std::fs::read(&installed).is_ok_and(|installed| installed == wanted) {
            return Ok(environment.join("bin/python"));
        }
        let mut make = Command::new("python3");
        make.args(["-m", "venv", "--clear"]).arg(&environment);
        output(make).await?;
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
        // Last: half an environment is none.
        std::fs::write(&installed, wanted)?;
        anyhow::Ok(environment.join("bin/python"))
    };
    MADE.get_or_try_init(make).await.map(PathBuf::as_path)
}

/// Runs a program as administrator; what it printed, without the names of the test.
pub(super) async fn run(
    case: &Case,
    program: &Path,
    arguments: &[&Path],
) -> anyhow::Result<String> {
    let mut command = Command::new(program);
    command
        .args(arguments)
        .arg(case.cluster.kubeconfig())
        .args([&case.namespace, &case.group]);
    let printed = output(command).await?;
    let printed = printed.replace(&case.group, "<group>");
    Ok(printed.replace(&case.namespace, "<namespace>"))
}

/// Sees that a program is there at all.
async fn has(program: &str, argument: &str) -> Result<(), Missing> {
    let mut command = Command::new(program);
    let command = command.arg(argument).stdin(Stdio::null());
    let ran = command.output().await;
    if ran.is_ok_and(|output| output.status.success()) {
        return Ok(());
    }
    Err(Missing(format!("there is no {program} here")))
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
    let said = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{program}:\n{printed}{said}");
    Ok(printed)
}
