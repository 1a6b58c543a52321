//! `PodSet`: bare Pods with made-up names, one made or deleted per run.

use k8s_openapi::api::core::v1::{Pod, Service};
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::example::{Example, built_in, is_owner_of, resource};
use test_harness::{Case, SOON, eventually, trials};

pub(super) fn tests() -> Vec<Trial> {
    trials![
        keeps_its_promises,
        makes_and_deletes_one_pod_per_run,
        replaces_pods_that_are_deleted_or_fail,
        names_the_claims_of_its_pods,
    ]
}

async fn example(case: &Case) -> anyhow::Result<Example> {
    Example::shared(case, resource("experiments.vapourware.com", "PodSet")).await
}

async fn keeps_its_promises(case: Case) -> anyhow::Result<()> {
    let sets = example(&case).await?;
    let name = "podset-sample";
    let children = [(built_in::<Service>(), name)];
    sets.keeps_its_promises("experiments_v1alpha1_podset.yaml", name, &children)
        .await?;
    eventually(SOON, "the end of the Pods", || async {
        let left = case
            .objects::<Pod>()
            .list(&ListParams::default())
            .await?
            .items;
        anyhow::ensure!(left.is_empty(), "{} are left", left.len());
        Ok(())
    })
    .await
}

async fn makes_and_deletes_one_pod_per_run(case: Case) -> anyhow::Result<()> {
    let sets = example(&case).await?;
    sets.make("a", json!({"numberOfReplicas": 0})).await?;
    for size in [4, 1] {
        sets.set("a", json!({"numberOfReplicas": size})).await?;
        let names = has_pods(&sets, size).await?;
        assert!(names.iter().all(|name| name.starts_with("a-")), "{names:?}");
        sets.until_status("a", "the number of Pods", |status| {
            status["numberOfReplicas"] == size
        })
        .await?;
    }
    // The first run makes the Service. A run is in the log a moment after its status is on the server.
    eventually(SOON, "the log of all runs", || async {
        let runs = sets.runs("a")?;
        let writes: Vec<&Value> = runs.iter().map(|run| &run["writes"]).collect();
        let single = writes.iter().all(|writes| writes.as_u64() <= Some(1));
        assert!(single, "writes of children per run: {writes:?}");
        let made = writes.iter().filter(|writes| **writes == 1).count();
        anyhow::ensure!(made == 1 + 4 + 3, "{writes:?}");
        Ok(())
    })
    .await?;
    let pods = sets.others(&built_in::<Pod>());
    let owner = sets.api.get("a").await?;
    for pod in pods.list(&ListParams::default()).await? {
        is_owner_of(&owner, &pod)?;
    }
    Ok(())
}

async fn replaces_pods_that_are_deleted_or_fail(case: Case) -> anyhow::Result<()> {
    let sets = example(&case).await?;
    sets.make("a", json!({"numberOfReplicas": 3})).await?;
    let pods = case.objects::<Pod>();
    let deleted = has_pods(&sets, 3).await?.remove(0);
    pods.delete(&deleted, &DeleteParams::default()).await?;
    is_replaced(&sets, &deleted).await?;
    let failed = has_pods(&sets, 3).await?.remove(0);
    let failure = Patch::Merge(json!({"status": {"phase": "Failed", "reason": "Evicted"}}));
    pods.patch_status(&failed, &PatchParams::default(), &failure)
        .await?;
    is_replaced(&sets, &failed).await?;
    sets.is_ready("a").await.map(drop)
}

async fn is_replaced(sets: &Example, name: &str) -> anyhow::Result<()> {
    eventually(SOON, &format!("the end of {name}"), || async {
        let left = names(&sets.case.objects()).await?;
        anyhow::ensure!(!left.iter().any(|other| other == name), "{left:?}");
        anyhow::ensure!(left.len() == 3, "{left:?}");
        Ok(())
    })
    .await
}

async fn has_pods(sets: &Example, count: usize) -> anyhow::Result<Vec<String>> {
    eventually(SOON, &format!("{count} Pods"), || async {
        let names = names(&sets.case.objects()).await?;
        anyhow::ensure!(names.len() == count, "{names:?}");
        Ok(names)
    })
    .await
}

/// Returns the names of the Pods that are not being deleted.
async fn names(pods: &Api<Pod>) -> anyhow::Result<Vec<String>> {
    let pods = pods.list(&ListParams::default()).await?;
    let staying = pods
        .iter()
        .filter(|pod| pod.metadata.deletion_timestamp.is_none());
    Ok(staying.map(ResourceExt::name_any).collect())
}

async fn names_the_claims_of_its_pods(case: Case) -> anyhow::Result<()> {
    let sets = example(&case).await?;
    // While it is held, a Pod with a claim, otherwise like its own, takes the place of the one that it
    // would make.
    let pause = |held: Value| json!({"metadata": {"annotations": {"rhai.operator/paused": held}}});
    let mut held = pause(json!("true"));
    held["spec"] = json!({"numberOfReplicas": 1});
    let set = sets.make_with("a", held).await?;
    let uid = set.uid().unwrap_or_default();
    let pod: Pod = serde_json::from_value(json!({
        "metadata": {
            "name": "a-with-claim",
            "labels": {
                "app": "a", "rhai.operator/owner": uid, "rhai.operator/prune": "never",
            },
            "ownerReferences": [{
                "apiVersion": "experiments.vapourware.com/v1alpha1", "kind": "PodSet",
                "name": "a", "uid": uid, "controller": true, "blockOwnerDeletion": true,
            }],
        },
        "spec": {
            "nodeName": "node-0",
            "containers": [{"name": "shell", "image": "busybox"}],
            "volumes": [{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}],
        },
    }))?;
    let pods = case.objects::<Pod>();
    pods.create(&PostParams::default(), &pod).await?;
    sets.merge("a", pause(Value::Null)).await?;
    sets.until_status("a", "the claim's name", |status| {
        status["persistentVolumesUsed"] == json!(["data"]) && status["numberOfReplicas"] == 1
    })
    .await?;
    assert_eq!(names(&pods).await?, ["a-with-claim"]);
    Ok(())
}
