//! Pipelines: run by run with a manual clock, and in an operator process.

use std::time::Duration;

use embedded_apiserver::simulation::{Control, Target};
use embedded_apiserver::{ApiServer, Options};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams, PostParams};
use libtest_mimic::Trial;
use rhai_operator::clock;
use serde_json::{Value, json};

use crate::steps;
use crate::steps::step_test::{StepTest, TestNamespace};
use test_harness::{Case, Crd, Operator, Project, SOON, eventually, trials};

fn test_namespace(case: &Case) -> TestNamespace {
    TestNamespace {
        client: case.cluster.client.clone(),
        namespace: case.namespace.clone(),
        group: case.group.clone(),
    }
}

macro_rules! on_the_cluster {
    ($($test:ident),* $(,)?) => {
        pub(crate) fn tests() -> Vec<Trial> {
            trials![
                $($test,)*
                an_operator_resumes_what_waits_and_gives_up_in_time,
                a_waiting_step_reports_the_progress_of_its_workload:
                    embedded "it holds the simulation of Pods",
            ]
        }

        $(async fn $test(case: Case) -> anyhow::Result<()> {
            steps::$test(test_namespace(&case)).await;
            Ok(())
        })*
    };
}
steps::steps!(on_the_cluster);

const WATCHES: &str = "- {group: '{group}', version: v1, kind: Web, role: web}";

const STEPS: &str = "
- name: gate
  apply:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: '${meta.name}'}
  ready: $.data.open
  timeout: 15s
- name: after
  apply:
    apiVersion: v1
    kind: ConfigMap
    metadata: {name: '${meta.name}-after'}
";

async fn an_operator_resumes_what_waits_and_gives_up_in_time(case: Case) -> anyhow::Result<()> {
    let webs = case.api(&case.define(&Crd::new("Web")).await?);
    let project = Project::new(&case, WATCHES)?;
    let project = project.with(&case, "roles/web/tasks/main.yaml", STEPS)?;
    let _operator = Operator::builder(&case, &project).start().await?;
    for name in ["opened", "forgotten"] {
        let web = json!({
            "apiVersion": format!("{}/v1", case.group), "kind": "Web", "metadata": {"name": name},
        });
        let web = serde_json::from_value(web)?;
        webs.create(&PostParams::default(), &web).await?;
    }
    until(&webs, "opened", "Waiting").await?;
    let open = Patch::Merge(json!({"data": {"open": "yes"}}));
    let maps = case.objects::<ConfigMap>();
    maps.patch("opened", &PatchParams::default(), &open).await?;
    until(&webs, "opened", "Reconciled").await?;
    maps.get("opened-after").await?;
    // For the other one, only time passes.
    let message = until(&webs, "forgotten", "Failed").await?;
    assert!(message.starts_with("1 of 2, gate: "), "{message}");
    assert!(message.contains("not ready after 15s"), "{message}");
    assert!(maps.get_opt("forgotten-after").await?.is_none());
    Ok(())
}

/// Waits until `Ready` has a reason; its message.
async fn until(webs: &Api<DynamicObject>, name: &str, reason: &str) -> anyhow::Result<String> {
    eventually(SOON, reason, || async {
        let status = &webs.get(name).await?.data["status"];
        let conditions = status["conditions"].as_array().cloned().unwrap_or_default();
        let ready = conditions
            .into_iter()
            .find(|entry| entry["type"] == "Ready");
        let ready: Value = ready.unwrap_or_default();
        anyhow::ensure!(ready["reason"] == reason, "{status}");
        Ok(ready["message"].as_str().unwrap_or_default().to_owned())
    })
    .await
}

/// Uses a server of its own, whose simulation it controls.
async fn a_waiting_step_reports_the_progress_of_its_workload(case: Case) -> anyhow::Result<()> {
    const STEPS: &str = "
- name: config
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: c}}
- name: primary
  apply:
    apiVersion: apps/v1
    kind: StatefulSet
    metadata: {name: db}
    spec:
      replicas: 3
      serviceName: db
      podManagementPolicy: Parallel
      selector: {matchLabels: {app: db}}
      template:
        metadata: {labels: {app: db}}
        spec: {containers: [{name: db, image: db}]}
  ready: true
";
    let control = Control::new();
    for pod in ["db-1", "db-2"] {
        control.hold(Target::object("Pod", "default", pod));
    }
    let server = ApiServer::new(Options {
        simulation: control.clone(),
        ..Options::default()
    });
    let target = TestNamespace {
        client: server.client(),
        namespace: "default".to_owned(),
        group: case.group,
    };
    let files = [("web/tasks/main.yaml", STEPS)];
    let mut test = StepTest::new(target, &files).await;
    test.spec(json!({})).await;
    let expected = "2 of 2, primary: StatefulSet.apps default/db: 1 of 3 replicas are ready";
    let one_pod_is_ready = async {
        while test.waits().await != expected {
            clock::sleep(Duration::from_millis(20)).await;
        }
    };
    tokio::time::timeout(SOON, one_pod_is_ready).await?;
    control.release_all();
    server.settle();
    test.until_done().await;
    Ok(())
}
