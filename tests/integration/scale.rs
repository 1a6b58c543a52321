//! The requests and the memory that a thousand custom resources cost when nothing changes, and at a restart.
//! The test has its own cluster without controllers, so that only the operator and the test write.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, ensure};
use futures::{StreamExt, TryStreamExt, stream};
use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use libtest_mimic::Trial;
use rhai_operator::clock;
use serde_json::{Value, json};

use crate::examples::example::{Example, apply, resource, start};
use crate::widgets::comes_to_rest;
use test_harness::{Case, Operator, Project, Requests, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_thousand_memcacheds_rest_and_a_restart_writes_nothing:
            real "it stops the controllers and plays their part",
    ]
}

const COUNT: usize = 1000;
/// Counts runs that came to their end, which those that wait for a Deployment do not.
const DONE: &str = r#"reconcile_total{controller="memcached-controller",result="success"}"#;
/// Some five thousand writes, of which the API server makes some two hundred a second.
const ALL_MADE: Duration = Duration::from_mins(5);
/// In this time the operator asks nothing.
const REST: Duration = Duration::from_secs(20);
/// Requests of the test at a time.
const AT_ONCE: usize = 16;
/// The maximum number of requests of a start: lists of watched kinds and of possible children, and
/// discovery. It does not depend on the number of custom resources.
const START: usize = 60;

async fn a_thousand_memcacheds_rest_and_a_restart_writes_nothing(case: Case) -> anyhow::Result<()> {
    let case = case.on_own_cluster().await?;
    for process in ["kube-controller-manager", "kube-scheduler", "kwok"] {
        case.cluster.stop_process(process).await?;
    }
    apply(&case, "deploy/crds").await?;
    let operator = start(&case).await?;
    let user = operator.user.clone();
    let memcached = resource("cache.example.com", "Memcached");
    let memcacheds = Example::served_by(Arc::new(operator), &case, memcached);
    each(|name| {
        let memcacheds = &memcacheds;
        async move {
            memcacheds
                .make_with(&name, json!({"spec": {"size": 1}}))
                .await
                .map(drop)
        }
    })
    .await?;
    reaches(&memcacheds.operator, r#"applies_total{action="created"}"#).await?;
    let deployments = case.objects::<Deployment>();
    each(|name| {
        let deployments = &deployments;
        async move { is_available(deployments, &name).await }
    })
    .await?;
    // Some of the runs may have been second ones.
    reaches(&memcacheds.operator, DONE).await?;
    eventually(SOON, "all to be ready", || async {
        let unready = unready(&memcacheds.api).await?;
        let (count, example) = (unready.len(), unready.first());
        ensure!(unready.is_empty(), "{count} are not, e.g. {example:?}");
        Ok(())
    })
    .await?;
    comes_to_rest(&case, &memcacheds.operator, Duration::from_secs(2)).await?;
    asks_nothing(&case, &memcacheds.operator).await?;

    let operator = Arc::into_inner(memcacheds.operator);
    let mut operator = operator.context("the operator is shared")?;
    ensure!(operator.terminate().await?.success(), "it did not end well");
    let mark = case.cluster.audit.mark().await?;
    let project = Project::repository();
    let operator = Operator::builder(&case, &project)
        .user(&user)
        .start()
        .await?;
    reaches(&operator, DONE).await?;
    comes_to_rest(&case, &operator, Duration::from_secs(2)).await?;
    let requests = case.cluster.audit.since(mark).await?.by(&user.name);
    let writes = requests.clone().writes();
    assert_eq!(writes.counted(), [].into(), "a restart writes");
    let requests: Requests = requests.without_watches();
    let counted = requests.counted();
    assert!(
        requests.0.len() <= START,
        "{} requests: {counted:#?}",
        requests.0.len()
    );
    Ok(())
}

/// Does something for each of the thousand names.
async fn each<F>(work: impl Fn(String) -> F) -> anyhow::Result<()>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let names = (0..COUNT).map(|number| format!("memcached-{number:04}"));
    let work = stream::iter(names).map(|name| Ok(work(name)));
    work.try_buffer_unordered(AT_ONCE).try_collect().await
}

/// Writes the status of a Deployment whose Pods run.
async fn is_available(deployments: &Api<Deployment>, name: &str) -> anyhow::Result<()> {
    let condition = |kind: &str, reason: &str| json!({"type": kind, "status": "True", "reason": reason, "message": ""});
    let status = json!({"status": {
        "observedGeneration": 1, "replicas": 1, "updatedReplicas": 1, "readyReplicas": 1,
        "availableReplicas": 1,
        "conditions": [
            condition("Available", "MinimumReplicasAvailable"),
            condition("Progressing", "NewReplicaSetAvailable"),
        ],
    }});
    deployments
        .patch_status(name, &PatchParams::default(), &Patch::Merge(status))
        .await?;
    Ok(())
}

/// Waits until a counter has counted a thousand. Asking the operator costs the API server nothing.
async fn reaches(operator: &Operator, counter: &str) -> anyhow::Result<()> {
    eventually(ALL_MADE, counter, || async {
        let metrics = operator.metrics().await?;
        let line = metrics.lines().find(|line| line.contains(counter));
        let count = line.and_then(|line| line.rsplit(' ').next());
        let count: usize = count.context("not counted yet")?.parse()?;
        ensure!(count >= COUNT, "{count}");
        Ok(())
    })
    .await
}

async fn unready(memcacheds: &Api<DynamicObject>) -> anyhow::Result<Vec<Value>> {
    let all = memcacheds.list(&ListParams::default()).await?;
    ensure!(all.items.len() == COUNT, "{} of them", all.items.len());
    let is_ready = |status: &Value| {
        let conditions = status["conditions"].as_array();
        let mut conditions = conditions.into_iter().flatten();
        conditions.any(|it| it["type"] == "Ready" && it["status"] == "True")
    };
    let statuses = all.items.into_iter().map(|mut it| it.data["status"].take());
    Ok(statuses.filter(|status| !is_ready(status)).collect())
}

/// For twenty seconds the operator lets its watches run, and that is all.
async fn asks_nothing(case: &Case, operator: &Operator) -> anyhow::Result<()> {
    let mark = case.cluster.audit.mark().await?;
    clock::sleep(REST).await;
    let requests = case.cluster.audit.since(mark).await?;
    let requests = requests.by(&operator.user.name).without_watches();
    assert_eq!(requests.counted(), [].into());
    Ok(())
}
