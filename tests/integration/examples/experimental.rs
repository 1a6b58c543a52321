//! Experimental: parameters in `snake_case`, a period in an annotation, a role in Ansible's layout.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Service};
use libtest_mimic::Trial;
use serde_json::json;

use super::example::{Example, built_in, resource};
use test_harness::{Case, SOON, eventually, trials};

pub(super) fn tests() -> Vec<Trial> {
    trials![
        keeps_its_promises,
        replicas_and_the_kind_of_service_follow_the_parameters,
        ansibles_annotation_sets_the_period,
    ]
}

async fn example(case: &Case) -> anyhow::Result<Example> {
    Example::shared(case, resource("experiments.vapourware.com", "Experimental")).await
}

async fn keeps_its_promises(case: Case) -> anyhow::Result<()> {
    let name = "experimental-sample";
    let children = [
        (built_in::<Deployment>(), name),
        (built_in::<Service>(), name),
        (built_in::<ConfigMap>(), "experimental-sample-page"),
    ];
    example(&case)
        .await?
        .keeps_its_promises("experiments_v1alpha1_experimental.yaml", name, &children)
        .await
}

async fn replicas_and_the_kind_of_service_follow_the_parameters(case: Case) -> anyhow::Result<()> {
    let experimentals = example(&case).await?;
    experimentals
        .make("a", json!({"number_of_replicas": 2}))
        .await?;
    is_made_of(&case, 2, "ClusterIP").await?;
    let public = json!({"is_public": true, "number_of_replicas": 3});
    experimentals.set("a", public).await?;
    is_made_of(&case, 3, "LoadBalancer").await?;
    experimentals.set("a", json!({"is_public": false})).await?;
    is_made_of(&case, 3, "ClusterIP").await?;
    experimentals
        .until_status("a", "3 ready replicas", |status| status["replicas"] == 3)
        .await?;
    let page = case.objects::<ConfigMap>().get("a-page").await?;
    let page = page.data.unwrap_or_default().remove("index.html");
    assert!(
        page.unwrap_or_default().contains("This is a,"),
        "the role's file, filled in"
    );
    let log = experimentals.operator.log()?;
    assert!(
        log.contains("3 replicas, public"),
        "the role's own words:\n{log}"
    );
    Ok(())
}

async fn is_made_of(case: &Case, replicas: i32, kind: &str) -> anyhow::Result<()> {
    let deployment = case.objects::<Deployment>().get("a").await?;
    let seen = deployment.spec.and_then(|spec| spec.replicas);
    anyhow::ensure!(seen == Some(replicas), "{seen:?} replicas");
    let service = case.objects::<Service>().get("a").await?;
    let seen = service.spec.and_then(|spec| spec.type_);
    anyhow::ensure!(seen.as_deref() == Some(kind), "{seen:?} instead of {kind}");
    Ok(())
}

async fn ansibles_annotation_sets_the_period(case: Case) -> anyhow::Result<()> {
    let experimentals = example(&case).await?;
    experimentals.make("never", json!({})).await?;
    let often = json!({"ansible.operator-sdk/reconcile-period": "1s"});
    let often = json!({"metadata": {"annotations": often}, "spec": {}});
    experimentals.make_with("often", often).await?;
    experimentals.is_ready("often").await?;
    eventually(SOON, "two periodic runs", || async {
        let reasons = experimentals.reasons("often")?;
        anyhow::ensure!(reasons.get("period") >= Some(&2), "{reasons:?}");
        Ok(())
    })
    .await?;
    let reasons = experimentals.reasons("never")?;
    assert_eq!(reasons.get("period"), None, "{reasons:?}");
    Ok(())
}
