//! The deletion of custom resources with finalizers.

use anyhow::ensure;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DeleteParams, DynamicObject, PostParams};
use libtest_mimic::Trial;
use serde_json::{Value, json};

use test_harness::{Case, Crd, Operator, Project, SOON, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        the_finalizer_exists_from_the_first_run_to_the_last,
        a_deletion_that_is_over_time_is_given_up,
        children_out_of_reach_are_deleted,
        a_failing_deletion_is_reported,
        deleting_a_namespace_deletes_all_objects,
    ]
}

const WATCHES: &str = "
- group: '{group}'
  version: v1
  kind: Web
  role: web
  finalizer: {name: '{group}/finalizer'}
";

async fn make(case: &Case, webs: &Api<DynamicObject>) -> anyhow::Result<()> {
    let web = json!({
        "apiVersion": format!("{}/v1", case.group), "kind": "Web",
        "metadata": {"name": "a"}, "spec": {},
    });
    webs.create(&PostParams::default(), &serde_json::from_value(web)?)
        .await?;
    Ok(())
}

async fn until_gone(webs: &Api<DynamicObject>) -> anyhow::Result<()> {
    eventually(SOON, "the end of the custom resource", || async {
        let left = webs.get_opt("a").await?;
        ensure!(left.is_none(), "{left:?}");
        Ok(())
    })
    .await
}

async fn until_ready(webs: &Api<DynamicObject>) -> anyhow::Result<DynamicObject> {
    until_reason(webs, "Reconciled").await
}

async fn until_reason(webs: &Api<DynamicObject>, reason: &str) -> anyhow::Result<DynamicObject> {
    eventually(SOON, reason, || async {
        let web = webs.get("a").await?;
        let list = web.data["status"]["conditions"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let is = |entry: &Value| entry["type"] == "Ready" && entry["reason"] == reason;
        ensure!(list.iter().any(is), "{list:?}");
        Ok(web)
    })
    .await
}

async fn the_finalizer_exists_from_the_first_run_to_the_last(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let project = Project::new(&case, WATCHES)?
        .with_role(
            &case,
            "web",
            "set_status(#{finalizers: meta.finalizers.len()});",
        )?
        .with(
            &case,
            "roles/web/tasks/finalize.rhai",
            r#"k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: "last"},
                          data: #{finalizing: `${finalizing}`}});"#,
        )?;
    let _operator = Operator::builder(&case, &project).start().await?;
    make(&case, &webs).await?;
    let web = until_ready(&webs).await?;
    assert_eq!(web.data["status"]["finalizers"], 1);
    webs.delete("a", &DeleteParams::default()).await?;
    until_gone(&webs).await?;
    let last = case.objects::<ConfigMap>().get("last").await?;
    assert_eq!(last.data.unwrap_or_default()["finalizing"], "true");
    assert!(last.metadata.owner_references.is_none());
    Ok(())
}

async fn a_deletion_that_is_over_time_is_given_up(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let watches = WATCHES.replace("finalizer'}", "finalizer', timeout: 2s, onFailure: orphan}");
    let project = Project::new(&case, &watches)?.with_role(
        &case,
        "web",
        "if finalizing { throw \"never\" }",
    )?;
    let _operator = Operator::builder(&case, &project).start().await?;
    make(&case, &webs).await?;
    until_ready(&webs).await?;
    webs.delete("a", &DeleteParams::default()).await?;
    until_gone(&webs).await
}

async fn a_failing_deletion_is_reported(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let script = r#"
        if finalizing && k8s_get("v1", "ConfigMap", "free") == () { throw "not yet" }
    "#;
    let project = Project::new(&case, WATCHES)?.with_role(&case, "web", script)?;
    let _operator = Operator::builder(&case, &project).start().await?;
    make(&case, &webs).await?;
    until_ready(&webs).await?;
    webs.delete("a", &DeleteParams::default()).await?;
    until_reason(&webs, "Failed").await?;
    case.apply("{apiVersion: v1, kind: ConfigMap, metadata: {name: free}}")
        .await?;
    until_gone(&webs).await
}

async fn children_out_of_reach_are_deleted(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let other = format!("{}-other", case.namespace);
    case.create_namespace(&other).await?;
    let watches = "- {group: '{group}', version: v1, kind: Web, role: web}";
    let script = r#"
        k8s_apply(#{apiVersion: "v1", kind: "ConfigMap",
                    metadata: #{name: "far", namespace: "{namespace}-other"}});
    "#;
    let project = Project::new(&case, watches)?.with_role(&case, "web", script)?;
    let mut operator = Operator::builder(&case, &project).start().await?;
    make(&case, &webs).await?;
    let web = until_ready(&webs).await?;
    let finalizers = web.metadata.finalizers.unwrap_or_default();
    assert_eq!(finalizers, ["rhai.operator/cleanup"]);
    let far = Api::<ConfigMap>::namespaced(case.cluster.client.clone(), &other);
    assert!(far.get("far").await?.metadata.owner_references.is_none());
    // The next operator finds the child only through the cluster.
    operator.kill().await?;
    let _operator = Operator::builder(&case, &project).start().await?;
    webs.delete("a", &DeleteParams::default()).await?;
    until_gone(&webs).await?;
    assert!(far.get_opt("far").await?.is_none());
    Ok(())
}

async fn deleting_a_namespace_deletes_all_objects(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let script = r#"
        k8s_apply(#{apiVersion: "v1", kind: "ConfigMap", metadata: #{name: `child-${finalizing}`}});
    "#;
    let project = Project::new(&case, WATCHES)?.with_role(&case, "web", script)?;
    // The operator's own account must not go with the namespace.
    let elsewhere = format!("{}-operator", case.namespace);
    case.create_namespace(&elsewhere).await?;
    let user = case.service_account(&elsewhere, "operator").await?;
    user.bind("cluster-admin").await?;
    let _operator = Operator::builder(&case, &project)
        .user(&user)
        .start()
        .await?;
    make(&case, &webs).await?;
    until_ready(&webs).await?;
    case.cluster
        .kubectl(["delete", "namespace", &case.namespace, "--wait=false"])
        .await?;
    until_gone(&webs).await
}
