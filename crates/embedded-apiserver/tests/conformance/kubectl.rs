//! Runs a kubectl command and records its output and exit code.

use std::path::PathBuf;
use std::process::Stdio;
use std::sync::LazyLock;
use std::time::Duration;

use anyhow::Context;
use regex::Regex;
use serde_json::{Value, json};
use tokio::io::AsyncWriteExt;
use tokio::process::Command;

use crate::servers::Server;
use crate::step_response::StepResponse;
use test_harness::requests::Step;
use test_harness::supervisor;

/// The maximum duration of a command.
const TIMEOUT: Duration = Duration::from_mins(1);

/// Runs a step's command in a namespace.
pub(crate) async fn run(server: &Server, namespace: &str, step: &Step) -> StepResponse {
    match tokio::time::timeout(TIMEOUT, output(server, namespace, step)).await {
        Ok(Ok(answer)) => answer,
        Ok(Err(error)) => StepResponse::none(format!("kubectl did not run: {error:#}")),
        Err(_) => StepResponse::none("kubectl did not end in time"),
    }
}

async fn output(server: &Server, namespace: &str, step: &Step) -> anyhow::Result<StepResponse> {
    let arguments = words(&step.run);
    anyhow::ensure!(
        !step.run.contains("${"),
        "an unknown variable: {}",
        step.run
    );
    let mut command = Command::new(supervisor::binary("kubectl"));
    command
        .arg("--kubeconfig")
        .arg(server.kubeconfig())
        .arg("--cache-dir")
        .arg(cache(server, namespace)?)
        .args(["--namespace", namespace])
        .args(arguments)
        .env_remove("KUBECONFIG")
        .envs(&step.environment)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true);
    let mut child = command.spawn().context("kubectl")?;
    let mut pipe = child.stdin.take().context("a pipe")?;
    // The write fails if the command reads no input and has already exited.
    let _ = pipe.write_all(input(step)?.as_bytes()).await;
    drop(pipe);
    let output = child.wait_with_output().await?;
    let code = output.status.code().unwrap_or(-1);
    Ok(StepResponse {
        code: u16::try_from(code).unwrap_or(u16::MAX),
        body: json!({
            "stdout": lines(&output.stdout, namespace, step)?,
            "stderr": lines(&output.stderr, namespace, step)?,
        }),
        ..StepResponse::default()
    })
}

/// Returns the standard input: a manifest as JSON, or a text.
fn input(step: &Step) -> anyhow::Result<String> {
    Ok(match (&step.body, &step.raw) {
        (Some(body), _) => serde_json::to_string(body)?,
        (None, Some(raw)) => raw.clone(),
        (None, None) => String::new(),
    })
}

/// Returns the folder for cached discovery documents. Each server and sequence has its own, because a
/// sequence must not see the API groups of another one.
fn cache(server: &Server, namespace: &str) -> anyhow::Result<PathBuf> {
    let folder = server.kubeconfig().parent().context("a folder")?;
    Ok(folder.join("cache").join(namespace))
}

/// Patterns of kubectl output that differs from run to run, with their replacements.
const NOISE: [(&str, &str); 8] = [
    (
        r"(Mon|Tue|Wed|Thu|Fri|Sat|Sun), \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}",
        "<time>",
    ),
    (r"(^|[\s(])(?:\d+[dhms])+\b(?: ago)?", "${1}<age>"),
    (r"(Resource Version:\s*)\d+", "${1}<rv>"),
    (r":3[0-2]\d{3}/", ":<node port>/"),
    (r"^([WIE])\d{4} [\d:.]+ +\d+ ", "${1} "),
    // The names of Pods and ReplicaSets consist of the letters that Kubernetes generates names from.
    (
        r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}-[bcdfghjklmnpqrstvwxz2456789]{5}\b",
        "-<hash>-<generated>",
    ),
    (r"-[bcdfghjklmnpqrstvwxz2456789]{8,10}\b", "-<hash>"),
    // The width of a column depends on the other rows.
    (r"(\S)\s{2,}", "${1}  "),
];

static PATTERNS: LazyLock<Vec<(Regex, &str)>> = LazyLock::new(|| {
    let compiled = NOISE.iter().map(|(pattern, instead)| {
        let pattern = Regex::new(pattern).expect("a pattern");
        (pattern, *instead)
    });
    compiled.collect()
});

/// Returns the lines of the output without the parts that differ from run to run.
fn lines(bytes: &[u8], namespace: &str, step: &Step) -> anyhow::Result<Value> {
    let dropped = step.drop.iter().map(|pattern| Regex::new(pattern));
    let dropped = dropped.collect::<Result<Vec<Regex>, _>>()?;
    let is_kept = |line: &&str| {
        // Lines with the API groups of other sequences are ignored.
        let is_of_another = line.contains("conf-") && line.contains(".example.com");
        (!is_of_another || line.contains(namespace))
            && !dropped.iter().any(|pattern| pattern.is_match(line))
    };
    let text = String::from_utf8_lossy(bytes);
    let normal = text.lines().filter(is_kept).map(|line| {
        let mut line = line.trim_end().to_owned();
        for (pattern, instead) in PATTERNS.iter() {
            line = pattern.replace_all(&line, *instead).into_owned();
        }
        Value::from(line)
    });
    Ok(normal.collect())
}

/// Splits a command line into words. Quoted words can contain spaces.
fn words(line: &str) -> Vec<String> {
    let mut words = Vec::new();
    let mut word: Option<String> = None;
    let mut quote = None;
    for character in line.chars() {
        match (quote, character) {
            (Some(open), _) if open == character => quote = None,
            (None, '\'' | '"') => {
                quote = Some(character);
                word.get_or_insert_default();
            }
            (None, ' ') => words.extend(word.take()),
            _ => word.get_or_insert_default().push(character),
        }
    }
    words.extend(word);
    words
}
