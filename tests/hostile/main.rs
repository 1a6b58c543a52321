//! A tenant who may create custom resources, and nothing else, attacks an operator: each field of each
//! example and of the roles in `roles/` gets each value of a list of hostile ones, and random ones.
//!
//! Asserted: the operator lives, `/healthz` answers, its memory stays within bounds (it runs under
//! `ulimit -v`), each custom resource says in its condition what became of it, changes of another custom
//! resource are followed as quickly as beside harmless ones, no object changes that is not a custom
//! resource's own, text makes no structure in manifests, and no Secret's value appears in logs, metrics,
//! Events and status.
//!
//! A run on the embedded API takes a sample that is always the same. A smaller sample runs on a real API
//! server, which also accepts deeper values. These commands select other cases, or all of them (an hour and
//! more):
//!
//! ```console
//! $ HOSTILE_CASES=5000 HOSTILE_SEED=7 cargo test --test hostile
//! $ HOSTILE_CASES=all cargo test --release --test hostile
//! $ HOSTILE_ONLY='Patches /spec/steps patch-1' cargo test --test hostile
//! ```
//!
//! A violation names its case in the form of the last command.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    reason = "a test that panics is a test that fails, and what it prints is shown then"
)]

mod api;
mod bystander;
mod campaign;
mod cases;
mod cluster;
mod oracle;
mod random;
mod report;
mod test_processes;
mod values;
mod wait;

use std::process::ExitCode;

use libtest_mimic::{Failed, Trial};
use test_harness::{Suite, trials};

use self::api::Api;
use self::campaign::Campaign;
use self::cases::{Case, Selection};
use self::cluster::Namespaces;
use self::test_processes::{Process, TestProcesses};

/// The number of cases where the environment does not say.
const CASES: usize = 250;

const GROUP: &str = "hostile.test";

/// The roles of the campaign on a real API server, each with the field that is attacked: a text in a
/// template, a value of any type, and a part of an applied object.
const REAL_FIELDS: [(&str, &str); 3] = [
    ("texts", "/spec/title"),
    ("values", "/spec/text"),
    ("structures", "/spec/map"),
];

/// The values of the list that each of these fields gets, beside the deep ones.
const REAL_VALUES: usize = 28;

fn main() -> ExitCode {
    let on_embedded = || attack().map_err(|error| Failed::from(format!("{error:#}")));
    Suite::new(env!("CARGO_BIN_EXE_rhai-operator")).run([
        vec![
            Trial::test(
                "embedded::hostile_custom_resources_change_only_their_own_objects",
                on_embedded,
            ),
            Trial::test("the_list_has_200_values_and_there_are_20_roles", || {
                assert!(values::all().len() >= 200);
                assert!(cases::own_kinds(GROUP).len() >= 20);
                Ok(())
            }),
        ],
        trials![
            hostile_values_change_only_their_own_objects: real "another trial attacks the embedded API",
        ],
    ])
}

fn attack() -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(attack_embedded())
}

async fn attack_embedded() -> anyhow::Result<()> {
    let mut kinds = cases::own_kinds(GROUP);
    kinds.extend(cases::example_kinds());
    let widget = cases::own_kind(GROUP, "widget");
    let namespaces = Namespaces {
        tenant: "tenant".to_owned(),
        bystander: "bystander".to_owned(),
        others: vec!["other".to_owned()],
    };
    let all: Vec<_> = kinds.iter().chain([&widget]).collect();
    let stage = TestProcesses::set(&all, async |api| {
        cluster::prepare(api, &namespaces, &all).await?;
        let module = include_str!("../fixtures/modules.kmm.sigs.x-k8s.io.yaml");
        cluster::define(api, &rhai_operator::model::yaml::parse(module)?).await
    })
    .await?;
    let selected = cases::select(&kinds, &Selection::of_environment(CASES));
    let (api, operator) = (stage.api.clone(), &stage.process);
    let campaign = Campaign {
        api,
        namespaces,
        kinds,
        widget,
        is_alone: true,
        operator,
    };
    let done = campaign.run(&selected).await;
    println!(
        "the operator had at most {} MiB",
        stage.process.peak().unwrap_or_default() >> 10
    );
    done
}

/// Attacks three roles on a real API server.
async fn hostile_values_change_only_their_own_objects(
    case: test_harness::Case,
) -> anyhow::Result<()> {
    let kinds = REAL_FIELDS.map(|(role, _)| cases::own_kind(&case.group, role));
    let widget = cases::own_kind(&case.group, "widget");
    let namespaces = Namespaces {
        tenant: case.namespace.clone(),
        bystander: format!("{}-bystander", case.namespace),
        others: vec![format!("{}-other", case.namespace)],
    };
    let api = Api::new(case.cluster.client.clone());
    let all: Vec<_> = kinds.iter().chain([&widget]).collect();
    cluster::prepare(&api, &namespaces, &all).await?;
    cluster::settle(&api, &namespaces).await?;
    let folder = case.path("project");
    test_processes::project(&folder, &all)?;
    let user = case.user("operator").await?;
    user.bind("cluster-admin").await?;
    let process = Process::start(&folder, user.kubeconfig()).await?;
    let campaign = Campaign {
        api,
        namespaces,
        kinds: kinds.to_vec(),
        widget,
        is_alone: false,
        operator: &process,
    };
    campaign.run(&real_cases()).await
}

/// Returns an even sample of the list, and the deep values, for each attacked field.
fn real_cases() -> Vec<Case> {
    let all = values::all();
    let step = all.len() / REAL_VALUES;
    let sample: Vec<_> = all.into_iter().step_by(step).take(REAL_VALUES).collect();
    let fields = REAL_FIELDS.iter().enumerate();
    let cases = fields.flat_map(|(kind, (_, field))| {
        let hostile = sample.iter().cloned().chain(values::deep());
        hostile.map(move |hostile| Case {
            kind,
            field: (*field).to_owned(),
            hostile,
        })
    });
    cases.collect()
}
