//! Users by client certificate.

use std::path::Path;

use k8s_openapi::api::authentication::v1::{SelfSubjectReview, UserInfo};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::rbac::v1::RoleBinding;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use libtest_mimic::Trial;
use serde_json::json;

use test_harness::{Case, SOON, Signer, eventually, trials};

pub(crate) fn tests() -> Vec<Trial> {
    trials![
        a_certificate_is_a_user_and_its_groups,
        a_group_of_a_certificate_has_its_rights,
        a_certificate_that_is_not_trusted_is_refused,
        the_certificate_identifies_kubectl,
    ]
}

async fn user_info(client: &Client) -> kube::Result<UserInfo> {
    let review = Api::<SelfSubjectReview>::all(client.clone())
        .create(&PostParams::default(), &SelfSubjectReview::default())
        .await?;
    let info = review.status.and_then(|status| status.user_info);
    Ok(info.unwrap_or_default())
}

/// The status code and the text of a refusal.
async fn refusal(client: &Client) -> String {
    match user_info(client).await {
        Err(kube::Error::Api(status)) => format!("{} {}", status.code, status.message),
        other => panic!("{other:?}"),
    }
}

async fn a_certificate_is_a_user_and_its_groups(case: Case) -> anyhow::Result<()> {
    let subject = "/O=readers/O=auditors/CN=alice";
    let alice = case.certificate(subject, Signer::Trusted).await?;
    let info = user_info(&alice.client).await?;
    assert_eq!(info.username.as_deref(), Some("alice"));
    let groups = ["readers", "auditors", "system:authenticated"];
    assert_eq!(info.groups.unwrap_or_default(), groups);
    let extra = info.extra.unwrap_or_default();
    let credential = &extra["authentication.kubernetes.io/credential-id"];
    assert!(credential[0].starts_with("X509SHA256="), "{credential:?}");
    assert_eq!(extra.len(), 1, "{extra:?}");
    Ok(())
}

async fn a_group_of_a_certificate_has_its_rights(case: Case) -> anyhow::Result<()> {
    let group = format!("{}-readers", case.namespace);
    let subject = format!("/O={group}/CN=alice");
    let alice = case.certificate(&subject, Signer::Trusted).await?;
    let maps = Api::<ConfigMap>::namespaced(alice.client, &case.namespace);
    let refused = maps.list(&ListParams::default()).await.unwrap_err();
    assert!(refused.to_string().contains("User \"alice\""), "{refused}");
    let binding: RoleBinding = serde_json::from_value(json!({
        "metadata": {"name": "readers"},
        "roleRef": {"apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "view"},
        "subjects": [{"apiGroup": "rbac.authorization.k8s.io", "kind": "Group", "name": group}],
    }))?;
    let bindings = case.objects::<RoleBinding>();
    bindings.create(&PostParams::default(), &binding).await?;
    // The authorizer receives a new binding through its own watch.
    let all = ListParams::default();
    eventually(SOON, "the right to read", || maps.list(&all)).await?;
    let map = serde_json::from_value(json!({"metadata": {"name": "a"}}))?;
    let written = maps.create(&PostParams::default(), &map).await;
    assert!(written.is_err(), "readers may read");
    Ok(())
}

async fn a_certificate_that_is_not_trusted_is_refused(case: Case) -> anyhow::Result<()> {
    let subject = "/O=system:masters/CN=mallory";
    let mallory = case.certificate(subject, Signer::SelfSigned).await?;
    assert_eq!(refusal(&mallory.client).await, "401 Unauthorized");
    let late = case.certificate(subject, Signer::Expired).await?;
    assert_eq!(refusal(&late.client).await, "401 Unauthorized");
    let nobody = case.certificate("/O=readers", Signer::Trusted).await?;
    let refused = refusal(&nobody.client).await;
    assert!(refused.starts_with("403 "), "{refused}");
    assert!(refused.contains("system:anonymous"), "{refused}");
    // A token makes up for it.
    let known = with_token(&mallory.kubeconfig, "admin-token").await?;
    let groups = user_info(&known).await?.groups.unwrap_or_default();
    assert!(groups.contains(&"system:masters".to_owned()), "{groups:?}");
    let unknown = with_token(&mallory.kubeconfig, "nonsense").await?;
    assert_eq!(refusal(&unknown).await, "401 Unauthorized");
    Ok(())
}

/// A client that has both a certificate and a token.
async fn with_token(kubeconfig: &Path, token: &str) -> anyhow::Result<Client> {
    let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
    let options = KubeConfigOptions::default();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &options).await?;
    config.auth_info.token = Some(token.to_owned().into());
    Ok(Client::try_from(config)?)
}

async fn the_certificate_identifies_kubectl(case: Case) -> anyhow::Result<()> {
    let whoami = |kubeconfig: &Path| {
        let kubeconfig = kubeconfig.to_string_lossy().into_owned();
        let name = "jsonpath={.status.userInfo.username}".to_owned();
        let words = ["auth", "whoami", "--output"].map(str::to_owned);
        ["--kubeconfig".to_owned(), kubeconfig]
            .into_iter()
            .chain(words)
            .chain([name])
    };
    let alice = case.certificate("/CN=alice", Signer::Trusted).await?;
    let said = case.cluster.kubectl(whoami(&alice.kubeconfig)).await?;
    assert_eq!(said, "alice");
    let late = case.certificate("/CN=alice", Signer::Expired).await?;
    let refused = case.cluster.kubectl(whoami(&late.kubeconfig)).await;
    let refused = refused.unwrap_err().to_string();
    assert!(refused.contains("must be logged in"), "{refused}");
    Ok(())
}
