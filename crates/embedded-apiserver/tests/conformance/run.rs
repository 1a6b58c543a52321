//! The trials: each sends a sequence of requests to two servers.

use std::path::Path;
use std::sync::OnceLock;

use libtest_mimic::{Completion, Failed, Trial};
use tokio::runtime::Runtime;

use crate::comparison;
use crate::declared;
use crate::exchange::Exchange;
use crate::normal::Normalizer;
use crate::recording;
use crate::servers::{self, Server};
use crate::step_response::StepResponse;
use test_harness::requests::Variables;
use test_harness::requests::{self, Sequence, Step};
use test_harness::run_folder;
use test_harness::supervisor;

/// The two sides of the comparison.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// The embedded API with the real server.
    Live,
    /// The embedded API with recorded responses of the real server.
    Recorded,
    /// The real server with itself.
    Myself,
}

impl Mode {
    fn of_environment() -> Self {
        match std::env::var("CONFORMANCE").as_deref() {
            Ok("recorded") => Self::Recorded,
            Ok("self") => Self::Myself,
            _ => Self::Live,
        }
    }
}

/// Returns whether this run checks the harness and not the embedded API.
pub(crate) fn compares_with_itself() -> bool {
    Mode::of_environment() == Mode::Myself
}

/// Returns the runtime of all trials. They share one, because clients outlive the trial that created them.
pub(crate) fn runtime() -> &'static Runtime {
    static RUNTIME: OnceLock<Runtime> = OnceLock::new();
    RUNTIME.get_or_init(|| Runtime::new().expect("a runtime for the tests"))
}

/// Returns one trial for each sequence.
pub(crate) fn trials() -> Vec<Trial> {
    let mode = Mode::of_environment();
    let trial = |sequence: Sequence| {
        let name = format!("{}::{}", sequence.theme, sequence.name);
        Trial::ignorable_test(name, move || match unavailable(mode) {
            Some(reason) if std::env::var_os("CI").is_some() => Err(Failed::from(reason)),
            Some(reason) => Ok(Completion::ignored_with(reason)),
            None => runtime()
                .block_on(compare(mode, &sequence))
                .map(|()| Completion::Completed)
                .map_err(Failed::from),
        })
    };
    let sequences = requests::load(Path::new(concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/conformance"
    )))
    .into_iter()
    .map(trial);
    sequences.chain([documentation()]).collect()
}

/// Returns the trial that checks that the documentation lists the reason of each difference.
fn documentation() -> Trial {
    Trial::test("differences::are documented", || {
        let path = run_folder::repository("docs/embedded-api.md");
        let text = std::fs::read_to_string(path).unwrap_or_default();
        let text: Vec<&str> = text.split_whitespace().collect();
        let text = text.join(" ");
        let missing: Vec<&str> = declared::reasons()
            .filter(|r| !text.contains(r.trim()))
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        Err(format!("docs/embedded-api.md does not say: {missing:#?}").into())
    })
}

fn unavailable(mode: Mode) -> Option<&'static str> {
    let needs_cluster =
        mode != Mode::Recorded && std::env::var_os("CONFORMANCE_KUBECONFIG").is_none();
    needs_cluster.then(supervisor::unavailable).flatten()
}

async fn compare(mode: Mode, sequence: &Sequence) -> Result<(), String> {
    let error = |error: anyhow::Error| format!("{error:#}");
    let expected = if mode == Mode::Recorded {
        recording::answers(sequence).map_err(error)?
    } else {
        let real = Server::real().await.map_err(error)?;
        let answers = converse(real, sequence).await.map_err(error)?;
        recording::record(sequence, &answers).map_err(error)?;
        answers
    };
    let other = match mode {
        Mode::Myself => Server::real().await,
        Mode::Live | Mode::Recorded => Server::embedded().await,
    };
    let seen = converse(other.map_err(error)?, sequence)
        .await
        .map_err(error)?;
    if std::env::var_os("CONFORMANCE_PRINT").is_some() {
        print(sequence, &expected);
    }
    comparison::compare(sequence, &expected, &seen)
}

/// Sends a sequence in a new namespace. Returns the responses.
async fn converse(server: &Server, sequence: &Sequence) -> anyhow::Result<Vec<StepResponse>> {
    let name = servers::unused_name();
    let mut variables = Variables::default();
    variables.set("ns", name.clone().into());
    variables.set("group", format!("{name}.example.com").into());
    let mut exchange = Exchange::new(server, variables);
    let created = exchange.perform(&new_namespace()).await;
    anyhow::ensure!(
        created.code == 201,
        "a namespace for the sequence: {}",
        created.text()
    );
    for from_elsewhere in ["serviceaccounts/default", "configmaps/kube-root-ca.crt"] {
        let answer = exchange.perform(&is_there(from_elsewhere)).await;
        anyhow::ensure!(answer.code == 200, "{from_elsewhere}: {}", answer.text());
    }
    let mut normal = Normalizer::new(&name);
    let mut answers = Vec::new();
    for step in &sequence.steps {
        let answer = exchange.perform(step).await;
        answers.push(normal.answer(step, answer));
    }
    Ok(answers)
}

fn new_namespace() -> Step {
    Step {
        request: "POST /api/v1/namespaces".to_owned(),
        body: Some(serde_json::json!({"metadata": {"name": "${ns}"}})),
        ..Step::default()
    }
}

/// Returns a step that waits for an object that controllers create in each namespace. Without it, Pods are
/// refused and lists differ.
fn is_there(object: &str) -> Step {
    Step {
        request: format!("GET core:{object}"),
        until: [("code".to_owned(), 200.into())].into(),
        ..Step::default()
    }
}

fn print(sequence: &Sequence, answers: &[StepResponse]) {
    for (number, (step, answer)) in sequence.steps.iter().zip(answers).enumerate() {
        println!(
            "### {}\n{}",
            comparison::step_place(sequence, number, step),
            answer.text()
        );
    }
}
