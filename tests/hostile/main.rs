//! A tenant who may create custom resources, and nothing else, attacks an operator: each field of each
//! example and of the roles in `roles/` gets each value of a list of hostile ones, and random ones.
//!
//! Asserted: the operator lives, `/healthz` answers, its memory stays within bounds (it runs under
//! `ulimit -v`), each custom resource says in its condition what became of it, changes of another custom
//! resource are followed as quickly as beside harmless ones, no object changes that is not a custom
//! resource's own, text makes no structure in manifests, and no Secret's value appears in logs, metrics,
//! Events and status.
//!
//! A run takes a sample that is always the same. Others, and all of them (an hour and more):
//!
//! ```console
//! $ HOSTILE_CASES=5000 HOSTILE_SEED=7 cargo test --test hostile
//! $ HOSTILE_CASES=all cargo test --release --test hostile
//! $ HOSTILE_ONLY='Patches /spec/steps patch-1' cargo test --test hostile
//! ```
//!
//! A violation names the case as the last of these takes it.

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

use self::campaign::Campaign;
use self::cases::Selection;
use self::cluster::Namespaces;
use self::test_processes::TestProcesses;

/// The number of cases where the environment does not say.
const CASES: usize = 250;

const GROUP: &str = "hostile.test";

#[test]
fn hostile_custom_resources_change_only_their_own_objects() -> anyhow::Result<()> {
    tokio::runtime::Runtime::new()?.block_on(attack())
}

async fn attack() -> anyhow::Result<()> {
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

#[test]
fn the_list_has_200_values_and_there_are_20_roles() {
    assert!(values::all().len() >= 200);
    assert!(cases::own_kinds(GROUP).len() >= 20);
}
