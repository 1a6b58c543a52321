//! Minimart: a chart's values over the role's defaults, a Deployment and a `NodePort` Service.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Pod, Service};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use super::example::{Example, built_in, resource};
use test_harness::{Case, trials};

pub(super) fn tests() -> Vec<Trial> {
    trials![
        keeps_its_promises,
        values_go_over_the_defaults,
        values_make_no_objects,
        serves_metrics_and_health_meanwhile,
    ]
}

async fn example(case: &Case) -> anyhow::Result<Example> {
    Example::shared(case, resource("charts.samutup.com", "Minimart")).await
}

async fn keeps_its_promises(case: Case) -> anyhow::Result<()> {
    let name = "minimart-sample";
    let children = [
        (built_in::<Deployment>(), name),
        (built_in::<Service>(), name),
    ];
    example(&case)
        .await?
        .keeps_its_promises("charts_v1alpha1_minimart.yaml", name, &children)
        .await
}

async fn values_go_over_the_defaults(case: Case) -> anyhow::Result<()> {
    let minimarts = example(&case).await?;
    minimarts.make("a", json!({})).await?;
    let [deployment, service] = children(&minimarts).await?;
    let container = "/spec/template/spec/containers/0";
    let at = |object: &Value, path: &str| object.pointer(path).cloned().unwrap_or_default();
    assert_eq!(deployment["spec"]["replicas"], 1);
    let image = "docker.io/nginxinc/nginx-unprivileged:1.29-alpine";
    assert_eq!(at(&deployment, &format!("{container}/image")), image);
    assert_eq!(service["spec"]["type"], "NodePort");
    assert_eq!(service["spec"]["ports"][0]["port"], 80);
    let values = json!({
        "replicaCount": 2,
        "image": {"tag": "1.30"},
        "service": {"port": 8000},
        "env": {"GREETING": "hello"},
        "resources": {"limits": {"memory": "64Mi"}},
    });
    minimarts.set("a", values).await?;
    let [deployment, service] = children(&minimarts).await?;
    assert_eq!(deployment["spec"]["replicas"], 2);
    let image = "docker.io/nginxinc/nginx-unprivileged:1.30";
    assert_eq!(at(&deployment, &format!("{container}/image")), image);
    let env = at(&deployment, &format!("{container}/env"));
    assert_eq!(env, json!([{"name": "GREETING", "value": "hello"}]));
    let limits = at(&deployment, &format!("{container}/resources/limits"));
    assert_eq!(limits, json!({"memory": "64Mi"}));
    assert_eq!(service["spec"]["type"], "NodePort");
    assert_eq!(service["spec"]["ports"][0]["port"], 8000);
    Ok(())
}

/// A user who can only create a Minimart tries to run a privileged Pod.
async fn values_make_no_objects(case: Case) -> anyhow::Result<()> {
    let minimarts = example(&case).await?;
    let attack = "1.29\n---\napiVersion: v1\nkind: Pod\nmetadata: {name: attack}\nspec:\n  hostPID: true\n  \
        containers: [{name: a, image: a, securityContext: {privileged: true}}]\n---\na: b";
    let values = json!({"image": {"tag": attack}, "env": {"GREETING": attack}});
    minimarts.make("a", values).await?;
    let [deployment, _] = children(&minimarts).await?;
    let container = &deployment["spec"]["template"]["spec"]["containers"][0];
    let repository = "docker.io/nginxinc/nginx-unprivileged";
    assert_eq!(container["image"], format!("{repository}:{attack}"));
    assert_eq!(container["env"][0]["value"], attack);
    assert_eq!(container["securityContext"]["privileged"], Value::Null);
    let pods = minimarts.others(&built_in::<Pod>());
    assert!(pods.get_opt("attack").await?.is_none(), "the Pod was made");
    Ok(())
}

async fn children(minimarts: &Example) -> anyhow::Result<[Value; 2]> {
    let deployment = minimarts.others(&built_in::<Deployment>()).get("a").await?;
    let service = minimarts.others(&built_in::<Service>()).get("a").await?;
    Ok([deployment.data, service.data])
}

async fn serves_metrics_and_health_meanwhile(case: Case) -> anyhow::Result<()> {
    let minimarts = example(&case).await?;
    minimarts.make("a", json!({})).await?;
    let operator = &minimarts.operator;
    for path in ["/healthz", "/readyz"] {
        let (status, body) = operator.get(operator.health_address()?, path).await?;
        assert_eq!(status, 200, "{path}: {body}");
    }
    let metrics = operator.metrics().await?;
    let runs =
        r#"controller_runtime_reconcile_total{controller="minimart-controller",result="success"}"#;
    assert!(metrics.contains(runs), "{metrics}");
    Ok(())
}
