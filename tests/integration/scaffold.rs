//! A new project, created by the commands `init` and `new`, runs with nothing but its own manifests.

use std::process::Command;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use libtest_mimic::Trial;

use test_harness::{Case, Operator, Project, SOON, eventually, trials};

const NAMESPACE: &str = "shop-operator-system";

pub(crate) fn tests() -> Vec<Trial> {
    trials![a_new_project_applies_and_reconciles_its_sample]
}

async fn a_new_project_applies_and_reconciles_its_sample(case: Case) -> anyhow::Result<()> {
    // The namespace has a fixed name.
    let case = case.on_own_cluster().await?;
    let project = Project::empty(&case)?;
    run(&project, "init shop.example.com")?;
    run(&project, "new api Site --group web.shop.example.com")?;
    let deploy = project.path("deploy").display().to_string();
    let apply = ["apply", "-k", &deploy, "--warnings-as-errors"];
    case.cluster.kubectl(apply).await?;
    let pods = Api::<Pod>::namespaced(case.cluster.client.clone(), NAMESPACE);
    let managers = ListParams::default().labels("app.kubernetes.io/component=manager");
    eventually(SOON, "the manager's Pod", || async {
        let pods = pods.list(&managers).await?;
        anyhow::ensure!(pods.items.len() == 1, "{} Pods", pods.items.len());
        Ok(())
    })
    .await?;
    let user = case.service_account(NAMESPACE, "shop-operator").await?;
    let election = [
        "--leader-elect",
        "--leader-election-id=shop-operator",
        "--leader-election-namespace",
        NAMESPACE,
    ];
    let mark = case.cluster.audit.mark().await?;
    let operator = Operator::builder(&case, &project)
        .user(&user)
        .flags(election)
        .start()
        .await?;
    let samples = project.path("deploy/samples").display().to_string();
    let sample = ["apply", "-n", &case.namespace, "-f", &samples];
    case.cluster.kubectl(sample).await?;
    let wait = "wait --for=condition=Ready --timeout=120s --all sites -n";
    let wait = wait.split(' ').chain([&*case.namespace]);
    case.cluster.kubectl(wait).await?;
    let requests = case
        .cluster
        .audit
        .since(mark)
        .await?
        .by(&operator.user.name);
    let refused = requests.filter(|request| request.code() == 403);
    assert_eq!(refused.counted(), [].into(), "the permissions suffice");
    Ok(())
}

fn run(project: &Project, line: &str) -> anyhow::Result<()> {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rhai-operator"));
    command.env_clear().current_dir(project.path(""));
    let output = command.args(line.split(' ')).output()?;
    let stderr = String::from_utf8_lossy(&output.stderr);
    anyhow::ensure!(output.status.success(), "{line}: {stderr}");
    Ok(())
}
