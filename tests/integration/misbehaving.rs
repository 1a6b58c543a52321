//! Roles that loop, allocate, recurse, throw and panic, beside a working role: they affect only their own
//! custom resources, whose status names the error and its position.

use std::process::ExitCode;
use std::time::Duration;

use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use libtest_mimic::Trial;
use rhai::{EvalAltResult, FuncRegistration, Module, NativeCallContext, Shared};
use rhai_operator::role::Toolchain;
use rhai_operator::script::{Engine, Run};
use rhai_operator::{cli, host};
use serde_json::{Value, json};

use crate::widgets::{MAKE_MAP, WATCHES, Widgets};
use test_harness::{Case, Crd, Operator, Project, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![a_misbehaving_role_affects_only_its_own_custom_resources]
}

/// The operator with one more host function: `crash()` panics.
pub(crate) fn operator() -> ExitCode {
    let mut module = Module::new();
    FuncRegistration::new("crash")
        .in_global_namespace()
        .with_volatility(true)
        .set_into_module(&mut module, crash);
    let mut modules = host::modules();
    modules.push(Shared::new(module));
    cli::main(Toolchain {
        engine: Engine::new(modules, &host::VARIABLES),
        ..host::toolchain()
    })
}

#[expect(
    clippy::needless_pass_by_value,
    reason = "the signature of a host function"
)]
fn crash(cx: NativeCallContext) -> Result<(), Box<EvalAltResult>> {
    let _run = Run::from_call(&cx)?;
    panic!("the host is broken")
}

/// A role that does no good.
struct Misbehaving {
    kind: &'static str,
    script: &'static str,
    /// The position that its custom resource reports.
    place: &'static str,
    /// The message that its custom resource reports.
    message: &'static str,
}

const MISBEHAVING: [Misbehaving; 5] = [
    Misbehaving {
        kind: "Looper",
        script: "let n = 0;\nloop { n += 1; }",
        place: "looper/tasks/main.rhai:2:",
        message: "not done within its timeout",
    },
    Misbehaving {
        kind: "Hoarder",
        script: "let kept = `x`;\nloop {\n  kept += kept;\n}",
        place: "hoarder/tasks/main.rhai:3:",
        message: "a value with more than 16 MiB of text",
    },
    Misbehaving {
        kind: "Recurser",
        script: "fn down(n) {\n  down(n + 1)\n}\ndown(0);",
        place: "recurser/tasks/main.rhai:2:",
        message: "calls are nested more than 64 deep",
    },
    Misbehaving {
        kind: "Thrower",
        script: "let why = `oh no`;\n\n\nthrow why;",
        place: "thrower/tasks/main.rhai:4:",
        message: "oh no",
    },
    Misbehaving {
        kind: "Panicker",
        script: "\ncrash();",
        place: "panicker/tasks/main.rhai:2:",
        message: "a host function panicked: the host is broken",
    },
];

/// The time for which the loop uses a thread and a CPU in each run.
const TIMEOUT: &str = "14s";
/// The deadline of a change. It is shorter than a run of the loop.
const QUICK: Duration = Duration::from_secs(10);
/// The number of failures of each role that the test waits for.
const FAILURES: u32 = 2;

impl Misbehaving {
    fn role(&self) -> String {
        self.kind.to_lowercase()
    }

    fn watch(&self) -> String {
        let (kind, role) = (self.kind, self.role());
        format!(
            "- {{group: '{{group}}', version: v1, kind: {kind}, role: {role}, timeout: {TIMEOUT}}}\n"
        )
    }

    fn manifest(&self, case: &Case) -> String {
        let object = json!({
            "apiVersion": format!("{}/v1", case.group), "kind": self.kind,
            "metadata": {"name": "a"},
        });
        object.to_string()
    }

    /// Checks the condition and the Event of its custom resource.
    async fn has_reported(&self, case: &Case, objects: &Api<DynamicObject>) -> anyhow::Result<()> {
        let what = format!("what the {} says", self.kind);
        eventually(SOON, &what, || async {
            let status = objects.get("a").await?.data["status"].clone();
            let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
            let ready = conditions.iter().find(|entry| entry["type"] == "Ready");
            let ready = ready.cloned().unwrap_or_default();
            anyhow::ensure!(ready["status"] == "False", "{status}");
            anyhow::ensure!(ready["reason"] == "Failed", "{status}");
            self.is_in(&ready["message"])
        })
        .await?;
        eventually(SOON, "the Event", || async {
            let events = case
                .objects::<Event>()
                .list(&ListParams::default())
                .await?
                .items;
            let found = events.iter().any(|event| {
                let kind = event.regarding.as_ref().and_then(|it| it.kind.as_deref());
                let note = event.note.as_deref().unwrap_or_default();
                kind == Some(self.kind)
                    && event.reason.as_deref() == Some("Failed")
                    && event.type_.as_deref() == Some("Warning")
                    && self.is_in(&note.into()).is_ok()
            });
            anyhow::ensure!(found, "{events:?}");
            Ok(())
        })
        .await
    }

    fn is_in(&self, text: &Value) -> anyhow::Result<()> {
        let text = text.as_str().unwrap_or_default();
        for part in [self.place, self.message] {
            anyhow::ensure!(text.contains(part), "{part:?} is not in {text:?}");
        }
        Ok(())
    }
}

async fn a_misbehaving_role_affects_only_its_own_custom_resources(
    case: Case,
) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let mut misbehaving = Vec::new();
    for one in &MISBEHAVING {
        let resource = case.define(&Crd::new(one.kind)).await?;
        misbehaving.push((one, case.api(&resource)));
    }
    let mut operator = start(&case).await?;
    widgets.make("a", "begin").await?;
    widgets.is_done("a").await?;
    let manifests: Vec<String> = MISBEHAVING.iter().map(|one| one.manifest(&case)).collect();
    case.apply(&manifests.join("\n---\n")).await?;
    let (changes, beside_the_loop) = change_while_they_fail(&widgets, &operator).await?;
    anyhow::ensure!(
        beside_the_loop > 0,
        "none of {changes} changes met the loop"
    );
    for (one, objects) in &misbehaving {
        one.has_reported(&case, objects).await?;
    }
    runs_were_quick(&operator.metrics().await?)?;
    assert_eq!(operator.health().await?.0, 200);
    assert_eq!(operator.readiness().await?.0, 200);
    assert!(operator.is_running()?);
    widgets.is_done("a").await?;
    assert!(operator.terminate().await?.success());
    Ok(())
}

async fn start(case: &Case) -> anyhow::Result<Operator> {
    let watches: String = MISBEHAVING.iter().map(Misbehaving::watch).collect();
    let mut project =
        Project::new(case, &format!("{WATCHES}{watches}"))?.with_role(case, "widget", MAKE_MAP)?;
    for one in &MISBEHAVING {
        project = project.with_role(case, &one.role(), one.script)?;
    }
    let operator = Operator::builder(case, &project)
        .with_functions_of_tests()?
        .start()
        .await?;
    operator.ready().await?;
    Ok(operator)
}

/// Changes a widget again and again, each change to be followed at once, until each of the others has
/// failed some times; says how many changes there were, and how many of them while the loop ran.
async fn change_while_they_fail(
    widgets: &Widgets,
    operator: &Operator,
) -> anyhow::Result<(u32, u32)> {
    let (mut changes, mut beside_the_loop) = (0, 0);
    let whole = eventually(2 * SOON, "all to have failed", || async {
        let metrics = operator.metrics().await?;
        let failures = MISBEHAVING.each_ref().map(|one| failures(&metrics, one));
        let enough = failures.iter().all(|count| *count >= FAILURES);
        anyhow::ensure!(enough, "{failures:?}");
        Ok(())
    });
    tokio::pin!(whole);
    loop {
        let text = format!("change {changes}");
        let change = followed(widgets, operator, &text);
        tokio::select! {
            biased;
            looping = change => beside_the_loop += u32::from(looping?),
            done = &mut whole => return done.map(|()| (changes, beside_the_loop)),
        }
        changes += 1;
    }
}

/// One change and what follows; whether the loop ran all the while.
async fn followed(widgets: &Widgets, operator: &Operator, text: &str) -> anyhow::Result<bool> {
    let runs = async || {
        let metrics = operator.metrics().await?;
        let ended = value(&metrics, "controller_runtime_reconcile_total", "looper");
        let active = value(&metrics, "controller_runtime_active_workers", "looper");
        anyhow::Ok((ended, active > 0))
    };
    let before = runs().await?;
    widgets.merge("a", json!({"spec": {"text": text}})).await?;
    let what = format!("{text:?} to be followed while others misbehave");
    eventually(QUICK, &what, || async {
        let seen = widgets.text("a").await?;
        anyhow::ensure!(seen == text, "{seen:?}");
        Ok(())
    })
    .await?;
    Ok(before.1 && before == runs().await?)
}

fn failures(metrics: &str, of: &Misbehaving) -> u32 {
    value(
        metrics,
        "controller_runtime_reconcile_errors_total",
        &of.role(),
    )
}

/// The sum of a controller's lines of a metric.
fn value(metrics: &str, name: &str, controller: &str) -> u32 {
    let controller = format!("controller=\"{controller}-controller\"");
    metrics
        .lines()
        .filter(|line| line.starts_with(&format!("{name}{{")) && line.contains(&controller))
        .filter_map(|line| line.rsplit(' ').next()?.parse::<u32>().ok())
        .sum()
}

/// No run of the widget was as long as one that waits for the loop would be.
fn runs_were_quick(metrics: &str) -> anyhow::Result<()> {
    let name = "controller_runtime_reconcile_time_seconds_";
    let all = value(metrics, &format!("{name}count"), "widget");
    let quick: String = metrics
        .lines()
        .filter(|line| line.contains("le=\"10.0\""))
        .flat_map(|line| [line, "\n"])
        .collect();
    let quick = value(&quick, &format!("{name}bucket"), "widget");
    anyhow::ensure!(
        all > 0 && all == quick,
        "{quick} of {all} were quick\n{metrics}"
    );
    Ok(())
}
