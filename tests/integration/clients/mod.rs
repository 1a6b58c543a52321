//! Other clients: programs that use client-go and the official Python client, and a controller of kube-rs.
//! Their output on every API server is the text of the `.txt` files in this folder.

mod kube_rs;

use std::path::Path;

use libtest_mimic::Trial;
use similar::TextDiff;

use test_harness::{Case, programs, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![client_go, python, kube_rs]
}

async fn client_go(case: Case) -> anyhow::Result<()> {
    let program = programs::client_go().await?;
    is_as_expected("client-go", &programs::run(&case, program, &[]).await?)
}

async fn python(case: Case) -> anyhow::Result<()> {
    let python = programs::python().await?;
    let script = programs::python_script();
    is_as_expected("python", &programs::run(&case, python, &[&script]).await?)
}

async fn kube_rs(case: Case) -> anyhow::Result<()> {
    let lines = kube_rs::live(&case).await?;
    is_as_expected("kube-rs", &(lines.join("\n") + "\n"))
}

/// Returns the folder of the expected outputs.
fn folder() -> &'static Path {
    Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/integration/clients"
    ))
}

fn is_as_expected(client: &str, seen: &str) -> anyhow::Result<()> {
    let expected = std::fs::read_to_string(folder().join(client).with_extension("txt"))?;
    let diff = TextDiff::from_lines(&*expected, seen);
    let diff = diff.unified_diff().header("expected", "seen").to_string();
    anyhow::ensure!(diff.is_empty(), "{diff}");
    Ok(())
}
