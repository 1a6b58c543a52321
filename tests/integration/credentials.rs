//! Credentials that expire while the operator runs, and their replacements.

use std::path::Path;
use std::time::Duration;

use anyhow::{Context, ensure};
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::ResourceExt;
use kube::api::{DeleteParams, PostParams};
use libtest_mimic::Trial;
use serde_json::json;
use test_harness::{Case, Operator, SOON, Signer, client, eventually, trials};

use crate::widgets::{MAKE_MAP, Widgets};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_rotated_token_is_used_without_a_restart,
        a_rotated_certificate_is_used_without_a_restart,
    ]
}

/// A token that ends with its Secret.
async fn bound_token(case: &Case, account: &str, secret: &str) -> anyhow::Result<String> {
    let object = serde_json::from_value(json!({"metadata": {"name": secret}}))?;
    let object = case
        .objects::<Secret>()
        .create(&PostParams::default(), &object)
        .await?;
    let request: TokenRequest = serde_json::from_value(json!({"spec": {
        "audiences": [], "expirationSeconds": 3600,
        "boundObjectRef": {
            "apiVersion": "v1", "kind": "Secret", "name": secret, "uid": object.uid(),
        },
    }}))?;
    let accounts = case.objects::<ServiceAccount>();
    let answer = accounts
        .create_token_request(account, &PostParams::default(), &request)
        .await?;
    answer
        .status
        .and_then(|status| status.token)
        .context("no token")
}

/// Replaces a file atomically, as the kubelet does.
fn replace(path: &Path, text: &str) -> anyhow::Result<()> {
    let new = path.with_extension("new");
    std::fs::write(&new, text)?;
    Ok(std::fs::rename(new, path)?)
}

/// Waits until the server refuses the credentials of a kubeconfig.
async fn is_refused(kubeconfig: &Path) -> anyhow::Result<()> {
    eventually(SOON, "the end of the old credentials", || async {
        let answer = client(kubeconfig).await?.apiserver_version().await;
        match answer {
            Err(kube::Error::Api(status)) if status.code == 401 => Ok(()),
            other => anyhow::bail!("{:?}", other.map(|version| version.git_version)),
        }
    })
    .await
}

async fn a_rotated_token_is_used_without_a_restart(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let user = case.user("operator").await?;
    user.bind("cluster-admin").await?;
    let first = bound_token(&case, "operator", "first").await?;
    let file = case.path("token");
    replace(&file, &first)?;
    let kubeconfig = user.kubeconfig_with(&format!("tokenFile: \"{}\"", file.display()))?;
    let old = user.kubeconfig_with(&format!("token: {first}"))?;
    let project = widgets.project(MAKE_MAP)?;
    let user = user.with_kubeconfig(kubeconfig);
    let mut operator = Operator::builder(&case, &project)
        .user(&user)
        .start()
        .await?;
    widgets.make("before", "one").await?;
    widgets.is_done("before").await?;
    replace(&file, &bound_token(&case, "operator", "second").await?)?;
    case.objects::<Secret>()
        .delete("first", &DeleteParams::default())
        .await?;
    is_refused(&old).await?;
    widgets.make("after", "two").await?;
    widgets.is_done("after").await?;
    operator.ready().await?;
    ensure!(operator.is_running()?, "the operator has ended");
    Ok(())
}

/// The first certificate is valid long enough for the operator to start.
const VALIDITY: Duration = Duration::from_secs(40);

async fn a_rotated_certificate_is_used_without_a_restart(case: Case) -> anyhow::Result<()> {
    let widgets = Widgets::define(&case).await?;
    let subject = "/O=system:masters/CN=operator";
    let certificate = case
        .certificate(subject, Signer::TrustedFor(VALIDITY))
        .await?;
    let user = case.user("operator").await?;
    let user = user.with_kubeconfig(certificate.kubeconfig.clone());
    let project = widgets.project(MAKE_MAP)?;
    let mut operator = Operator::builder(&case, &project)
        .user(&user)
        .start()
        .await?;
    widgets.make("before", "one").await?;
    widgets.is_done("before").await?;
    let old = certificate.copy(&case.path("old"))?;
    let next = case.certificate(subject, Signer::Trusted).await?;
    next.replace(&certificate)?;
    is_refused(&old).await?;
    widgets.make("after", "two").await?;
    widgets.is_done("after").await?;
    operator.ready().await?;
    ensure!(operator.is_running()?, "the operator has ended");
    Ok(())
}
