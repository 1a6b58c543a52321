//! Memcached: a Deployment of a size, and the names of its Pods that are ready.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::api::{DeleteParams, ListParams};
use libtest_mimic::Trial;
use serde_json::json;

use super::example::{Example, built_in, resource};
use test_harness::{Case, SOON, eventually, trials};

pub(super) fn tests() -> Vec<Trial> {
    trials![
        keeps_its_promises,
        scales_and_names_the_pods_that_are_ready,
        shows_its_columns,
    ]
}

async fn example(case: &Case) -> anyhow::Result<Example> {
    Example::shared(case, resource("cache.example.com", "Memcached")).await
}

async fn keeps_its_promises(case: Case) -> anyhow::Result<()> {
    let name = "memcached-sample";
    let children = [(built_in::<Deployment>(), name)];
    example(&case)
        .await?
        .keeps_its_promises("cache_v1alpha1_memcached.yaml", name, &children)
        .await
}

async fn scales_and_names_the_pods_that_are_ready(case: Case) -> anyhow::Result<()> {
    let memcached = example(&case).await?;
    memcached.make("a", json!({"size": 3})).await?;
    names_its_pods(&memcached, 3).await?;
    for size in [5_i32, 2] {
        memcached.set("a", json!({"size": size})).await?;
        let deployment = case.objects::<Deployment>().get("a").await?;
        assert_eq!(deployment.spec.and_then(|spec| spec.replicas), Some(size));
        names_its_pods(&memcached, usize::try_from(size)?).await?;
    }
    // Nothing about the Deployment's spec changes here: it is the Pods that lead to a run.
    let first = ready_pods(&memcached).await?.remove(0);
    let pods = case.objects::<Pod>();
    pods.delete(&first, &DeleteParams::default()).await?;
    eventually(SOON, "the Pod's name to go", || async {
        let nodes = memcached.api.get("a").await?.data["status"]["nodes"].take();
        anyhow::ensure!(nodes[0] != first && nodes[1] != first, "{nodes}");
        Ok(())
    })
    .await?;
    names_its_pods(&memcached, 2).await?;
    let labels = case
        .objects::<Deployment>()
        .get("a")
        .await?
        .labels()
        .clone();
    let expected = [
        ("name", "memcached"),
        ("instance", "a"),
        ("managed-by", "rhai-operator"),
    ];
    for (label, value) in expected {
        assert_eq!(labels[&format!("app.kubernetes.io/{label}")], value);
    }
    Ok(())
}

/// The status names this many Pods: those that are ready, sorted.
async fn names_its_pods(memcached: &Example, count: usize) -> anyhow::Result<()> {
    eventually(SOON, &format!("the names of {count} Pods"), || async {
        let nodes = memcached.api.get("a").await?.data["status"]["nodes"].take();
        let pods = ready_pods(memcached).await?;
        anyhow::ensure!(pods.len() == count, "{pods:?}");
        anyhow::ensure!(nodes == json!(pods), "{nodes} instead of {pods:?}");
        Ok(())
    })
    .await
}

async fn ready_pods(memcached: &Example) -> anyhow::Result<Vec<String>> {
    let of_a = ListParams::default().labels("app.kubernetes.io/instance=a");
    let pods = memcached.case.objects::<Pod>().list(&of_a).await?;
    let mut names: Vec<String> = pods
        .iter()
        .filter(|pod| is_ready(pod))
        .map(ResourceExt::name_any)
        .collect();
    names.sort();
    Ok(names)
}

fn is_ready(pod: &Pod) -> bool {
    let conditions = pod
        .status
        .as_ref()
        .and_then(|status| status.conditions.as_ref());
    let mut conditions = conditions.into_iter().flatten();
    pod.metadata.deletion_timestamp.is_none()
        && conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

async fn shows_its_columns(case: Case) -> anyhow::Result<()> {
    let memcached = example(&case).await?;
    memcached.make("a", json!({"size": 1})).await?;
    let get = ["-n", &case.namespace, "get", "memcacheds"];
    let table = case.cluster.kubectl(get).await?;
    let words: Vec<Vec<&str>> = table
        .lines()
        .map(|line| line.split_whitespace().collect())
        .collect();
    assert_eq!(words[0], ["NAME", "SIZE", "READY", "AGE"], "{table}");
    assert_eq!(words[1][..3], ["a", "1", "True"], "{table}");
    Ok(())
}
