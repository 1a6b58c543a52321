//! `MyOwnShell`: a size, and a finalizer on the object and on its Deployment.

use k8s_openapi::api::apps::v1::Deployment;
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::{Api, ResourceExt};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::example::{Example, built_in, resource};
use test_harness::{Case, SOON, eventually, trials};

const FINALIZER: &str = "myownshell.my-first-operator.jgato.io/finalizer";

pub(super) fn tests() -> Vec<Trial> {
    trials![
        keeps_its_promises,
        sizes_and_edits_by_hand_lead_to_the_size_wanted,
        deletion_lets_go_of_both,
        a_deleted_deployment_is_recreated,
    ]
}

async fn example(case: &Case) -> anyhow::Result<Example> {
    Example::shared(case, resource("my-first-operator.jgato.io", "MyOwnShell")).await
}

async fn keeps_its_promises(case: Case) -> anyhow::Result<()> {
    let name = "myownshell-sample";
    let children = [(built_in::<Deployment>(), name)];
    example(&case)
        .await?
        .keeps_its_promises(
            "my-first-operator_v1alpha1_myownshell.yaml",
            name,
            &children,
        )
        .await
}

async fn sizes_and_edits_by_hand_lead_to_the_size_wanted(case: Case) -> anyhow::Result<()> {
    let shells = example(&case).await?;
    shells.make("a", json!({"size": 1})).await?;
    let deployments = case.objects::<Deployment>();
    has_replicas(&deployments, 1).await?;
    let labels = deployments.get("a").await?.labels().clone();
    assert_eq!(labels["app"], "myownshell");
    assert_eq!(labels["myownshell_cr"], "a");
    for size in [3, 0, 2] {
        shells.set("a", json!({"size": size})).await?;
        has_replicas(&deployments, size).await?;
    }
    let by_hand = Patch::Merge(json!({"spec": {"replicas": 4}}));
    let edited = deployments
        .patch("a", &PatchParams::default(), &by_hand)
        .await?;
    assert_eq!(edited.spec.and_then(|spec| spec.replicas), Some(4));
    has_replicas(&deployments, 2).await
}

async fn has_replicas(deployments: &Api<Deployment>, count: i32) -> anyhow::Result<()> {
    eventually(SOON, &format!("{count} replicas"), || async {
        let spec = deployments.get("a").await?.spec;
        let replicas = spec.and_then(|spec| spec.replicas);
        anyhow::ensure!(replicas == Some(count), "{replicas:?}");
        Ok(())
    })
    .await
}

async fn deletion_lets_go_of_both(case: Case) -> anyhow::Result<()> {
    let shells = example(&case).await?;
    let shell = shells.make("a", json!({"size": 1})).await?;
    let deployments = case.objects::<Deployment>();
    assert_eq!(shell.finalizers(), [FINALIZER]);
    assert_eq!(deployments.get("a").await?.finalizers(), [FINALIZER]);
    shells.delete("a").await?;
    shells.is_gone("a").await?;
    shells.has_gone(&built_in::<Deployment>(), "a").await?;
    let log = shells.operator.log()?;
    let object = shells.in_the_log("a");
    let mut entries = log
        .lines()
        .filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let told = entries.any(|entry| {
        let of = entry["object.ref"].as_str().unwrap_or_default();
        entry["message"] == "a lets go of its Deployment" && of.ends_with(&object)
    });
    assert!(told, "the finalize script has logged nothing:\n{log}");
    Ok(())
}

async fn a_deleted_deployment_is_recreated(case: Case) -> anyhow::Result<()> {
    let shells = example(&case).await?;
    shells.make("a", json!({"size": 1})).await?;
    let deployments = case.objects::<Deployment>();
    let before = deployments.get("a").await?.uid();
    let foreground = DeleteParams::foreground();
    deployments.delete("a", &foreground).await?;
    eventually(SOON, "a new Deployment", || async {
        let now = deployments.get("a").await?;
        anyhow::ensure!(now.uid() != before, "{:?}", now.metadata);
        anyhow::ensure!(now.finalizers() == [FINALIZER], "{:?}", now.metadata);
        Ok(())
    })
    .await?;
    shells.is_ready("a").await.map(drop)
}
