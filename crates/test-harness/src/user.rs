//! A user of the cluster: a service account with a token and a kubeconfig.

use std::path::{Path, PathBuf};

use anyhow::Context;
use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::ServiceAccount;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::cluster::{self, Cluster};

/// A service account with a token and a kubeconfig.
#[derive(Clone)]
pub struct User {
    /// The full name, as the audit log shows it.
    pub name: String,
    /// A client that acts as this user.
    pub client: Client,
    namespace: String,
    account: String,
    admin: Client,
    kubeconfig: PathBuf,
}

impl User {
    /// Requests a token for a service account, which is created if it does not exist.
    pub(crate) async fn create(
        cluster: &Cluster,
        namespace: &str,
        account: &str,
        folder: &Path,
    ) -> anyhow::Result<Self> {
        let accounts = Api::<ServiceAccount>::namespaced(cluster.client.clone(), namespace);
        if accounts.get_opt(account).await?.is_none() {
            let new = serde_json::from_value(json!({"metadata": {"name": account}}))?;
            accounts.create(&PostParams::default(), &new).await?;
        }
        let request: TokenRequest =
            serde_json::from_value(json!({"spec": {"audiences": [], "expirationSeconds": 36000}}))?;
        let token = accounts
            .create_token_request(account, &PostParams::default(), &request)
            .await?
            .status
            .and_then(|status| status.token)
            .context("a token request without a token")?;
        let kubeconfig = folder.join(format!("{namespace}-{account}.kubeconfig"));
        write_kubeconfig(cluster.kubeconfig(), &kubeconfig, &token)?;
        Ok(Self {
            name: format!("system:serviceaccount:{namespace}:{account}"),
            client: Client::try_from(cluster::config(&kubeconfig).await?)?,
            namespace: namespace.to_owned(),
            account: account.to_owned(),
            admin: cluster.client.clone(),
            kubeconfig,
        })
    }

    /// Returns the kubeconfig file with this user's token.
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// Writes a kubeconfig with other credentials than the token, such as `tokenFile: PATH`.
    pub fn kubeconfig_with(&self, credentials: &str) -> anyhow::Result<PathBuf> {
        let text = std::fs::read_to_string(&self.kubeconfig)?;
        let (before, rest) = text.split_once("user: {token: ").context("no token")?;
        let (_, after) = rest.split_once('}').context("no end of the token")?;
        let word = credentials.split(':').next().unwrap_or_default();
        let path = self.kubeconfig.with_extension(format!("{word}.kubeconfig"));
        std::fs::write(&path, format!("{before}user: {{{credentials}}}{after}"))?;
        Ok(path)
    }

    /// Returns the user with another kubeconfig.
    pub fn with_kubeconfig(self, kubeconfig: PathBuf) -> Self {
        Self { kubeconfig, ..self }
    }

    /// Grants a cluster role in all namespaces.
    pub async fn bind(&self, cluster_role: &str) -> anyhow::Result<()> {
        let binding: ClusterRoleBinding = serde_json::from_value(json!({
            "metadata": {"name": format!("{}-{}-{cluster_role}", self.namespace, self.account)},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": cluster_role,
            },
            "subjects": [
                {"kind": "ServiceAccount", "name": self.account, "namespace": self.namespace}
            ],
        }))?;
        Api::all(self.admin.clone())
            .create(&PostParams::default(), &binding)
            .await?;
        Ok(())
    }

    /// Grants RBAC rules in all namespaces, and returns the name of their new cluster role.
    pub async fn allow(&self, rules: Value) -> anyhow::Result<String> {
        let name = format!("{}-{}", self.namespace, self.account);
        let role: ClusterRole =
            serde_json::from_value(json!({"metadata": {"name": name}, "rules": rules}))?;
        Api::all(self.admin.clone())
            .create(&PostParams::default(), &role)
            .await?;
        self.bind(&name).await?;
        Ok(name)
    }
}

/// Writes the administrator's kubeconfig with another token.
fn write_kubeconfig(admin: &Path, path: &Path, token: &str) -> anyhow::Result<()> {
    let text = std::fs::read_to_string(admin)?.replace("admin-token", token);
    Ok(std::fs::write(path, text)?)
}

/// Writes a copy of a kubeconfig with another server, and returns its path.
pub(crate) fn redirect(kubeconfig: &Path, server: &str) -> anyhow::Result<PathBuf> {
    let text = std::fs::read_to_string(kubeconfig)?;
    let lines: Vec<String> = text
        .lines()
        .map(|line| match line.strip_prefix("clusters:") {
            Some(_) => format!("clusters: [{{name: test, cluster: {{server: \"{server}\"}}}}]"),
            None => line.to_owned(),
        })
        .collect();
    let path = kubeconfig.with_extension("proxied.kubeconfig");
    std::fs::write(&path, lines.join("\n"))?;
    Ok(path)
}
