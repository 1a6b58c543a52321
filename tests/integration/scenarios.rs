//! `rhai-operator test --kubeconfig`: the scenarios of the examples pass on a cluster.

use std::process::Stdio;

use k8s_openapi::api::core::v1::Namespace;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::Api;
use kube::api::ListParams;
use libtest_mimic::Trial;
use serde_json::Value;
use tokio::process::Command;

use test_harness::{Case, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        the_scenarios_of_the_examples_pass_on_a_cluster:
            real "scenario tests have another path for the embedded API, which tests/scenario.rs runs",
    ]
}

async fn the_scenarios_of_the_examples_pass_on_a_cluster(case: Case) -> anyhow::Result<()> {
    // The scenarios apply the CRDs of the examples, and one has an object without a namespace.
    let case = case.on_own_cluster().await?;
    let namespaces_before = namespaces(&case).await?;
    let output = Command::new(env!("CARGO_BIN_EXE_rhai-operator"))
        .args(["test", "--output", "json", "--kubeconfig"])
        .arg(case.cluster.kubeconfig())
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .env_clear()
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await?;
    let report = String::from_utf8(output.stdout)?;
    let errors = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{report}{errors}");
    let report: Value = serde_json::from_str(&report)?;
    let scenarios = report["scenarios"].as_array().map(Vec::as_slice);
    assert_eq!(scenarios.unwrap_or_default().len(), 7, "{report:#}");
    assert_eq!(
        namespaces(&case).await?,
        namespaces_before,
        "the scenarios delete the namespaces that they created"
    );
    Ok(())
}

/// Returns the names of all namespaces that are not being deleted.
async fn namespaces(case: &Case) -> anyhow::Result<Vec<String>> {
    let namespaces = Api::<Namespace>::all(case.cluster.client.clone());
    let namespaces = namespaces.list(&ListParams::default()).await?;
    let metadata = namespaces.items.into_iter().map(|item| item.metadata);
    let remaining = metadata.filter(|metadata| metadata.deletion_timestamp.is_none());
    let names = remaining.filter_map(|ObjectMeta { name, .. }| name);
    Ok(names.collect())
}
