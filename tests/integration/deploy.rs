//! `deploy/`: it applies as it is, and what it allows is enough and not too much.

use std::path::Path;
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use kube::api::ListParams;
use libtest_mimic::Trial;

use crate::harness::{Case, eventually, trials};

const NAMESPACE: &str = "rhai-operator-system";

pub(crate) fn tests() -> Vec<Trial> {
    trials![applies_cleanly_where_pods_are_restricted]
}

fn folder() -> String {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("deploy");
    folder.to_string_lossy().into_owned()
}

async fn applies_cleanly_where_pods_are_restricted(case: Case) -> anyhow::Result<()> {
    // The namespace has a fixed name, and others apply the same CRDs.
    let case = case.on_own_cluster().await?;
    let apply = ["apply", "-k", &folder(), "--warnings-as-errors"];
    case.cluster.kubectl(apply).await?;
    let pods = Api::<Pod>::namespaced(case.cluster.client.clone(), NAMESPACE);
    let of_the_manager = ListParams::default().labels("app.kubernetes.io/component=manager");
    eventually(Duration::from_secs(30), "the manager's Pod", || async {
        let pods = pods.list(&of_the_manager).await?;
        anyhow::ensure!(pods.items.len() == 1, "{} Pods", pods.items.len());
        Ok(())
    })
    .await?;
    let again = case.cluster.kubectl(apply).await?;
    let changed: Vec<&str> = again
        .lines()
        .filter(|line| !line.ends_with(" unchanged"))
        .collect();
    assert_eq!(changed, [""; 0], "applied twice, something changed");
    Ok(())
}
