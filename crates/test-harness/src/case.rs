//! A test with its namespace, its API group and its folder.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kube::discovery::Scope;
use positioned_yaml as yaml;
use serde_json::{Value, json};

use crate::certificate::{self, Certificate};
use crate::{Cluster, Crd, Environment, User, run_folder};

/// A test with its namespace, its API group and its folder. Clones belong to the same test.
#[derive(Clone)]
pub struct Case {
    /// The cluster of the test.
    pub cluster: Arc<Cluster>,
    /// The namespace of the test.
    pub namespace: String,
    /// The API group of the test's custom kinds.
    pub group: String,
    folder: PathBuf,
    names: Arc<AtomicUsize>,
}

impl Case {
    pub(crate) async fn create(environment: Environment, name: &str) -> anyhow::Result<Self> {
        let name = name.replace("::", "-").replace('_', "-");
        // Names of objects have at most 63 characters, and tests append to this one.
        let namespace: String = name.chars().take(50).collect();
        let namespace = namespace.trim_end_matches('-').to_owned();
        let folder = run_folder::create(&format!("cases/{environment}-{name}"))?;
        Self::on_cluster(Cluster::shared(environment).await?, namespace, folder).await
    }

    async fn on_cluster(
        cluster: Arc<Cluster>,
        namespace: String,
        folder: PathBuf,
    ) -> anyhow::Result<Self> {
        let case = Self {
            group: format!("{namespace}.test"),
            cluster,
            namespace,
            folder,
            names: Arc::default(),
        };
        case.create_namespace(&case.namespace).await?;
        Ok(case)
    }

    /// Returns this test on a cluster of its own, whose processes the test may stop.
    pub async fn on_own_cluster(&self) -> anyhow::Result<Self> {
        let cluster = Cluster::start(self.cluster.environment).await?;
        let case = Self::on_cluster(cluster, self.namespace.clone(), self.folder.clone()).await?;
        Ok(Self {
            names: self.names.clone(),
            ..case
        })
    }

    /// Creates another namespace.
    pub async fn create_namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        Api::<Namespace>::all(self.cluster.client.clone())
            .create(&PostParams::default(), &namespace)
            .await?;
        Ok(())
    }

    /// Creates a user without permissions.
    pub async fn user(&self, name: &str) -> anyhow::Result<User> {
        User::create(&self.cluster, &self.namespace, name, &self.folder).await
    }

    /// Creates a certificate for a subject such as `/O=group/CN=name`, with its key and a kubeconfig.
    pub async fn certificate(
        &self,
        subject: &str,
        signer: certificate::Signer,
    ) -> anyhow::Result<Certificate> {
        let stem = self.path(&self.unique("certificate"));
        certificate::create(&self.cluster, &stem, subject, signer).await
    }

    /// Returns an existing service account as a user.
    pub async fn service_account(&self, namespace: &str, name: &str) -> anyhow::Result<User> {
        User::create(&self.cluster, namespace, name, &self.folder).await
    }

    /// Creates a custom kind in this test's group, version `v1`.
    pub async fn define(&self, crd: &Crd) -> anyhow::Result<ApiResource> {
        crd.create(self.cluster.client.clone(), &self.group).await?;
        Ok(crd.resource(&self.group))
    }

    /// Returns the administrator's API of a custom kind in this test's namespace.
    pub fn api(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.cluster.client.clone(), &self.namespace, resource)
    }

    /// Returns the administrator's API of a built-in kind in this test's namespace.
    pub fn objects<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.cluster.client.clone(), &self.namespace)
    }

    /// Applies manifests with server-side apply. The default namespace is this test's.
    pub async fn apply(&self, manifests: &str) -> anyhow::Result<()> {
        for manifest in yaml::parse_all(manifests)? {
            self.apply_one(&manifest).await?;
        }
        Ok(())
    }

    /// Applies the manifests of a file, or of the files of a folder.
    pub async fn apply_path(&self, path: &Path) -> anyhow::Result<()> {
        let mut files = vec![path.to_owned()];
        if path.is_dir() {
            let entries: Result<Vec<_>, _> = std::fs::read_dir(path)?.collect();
            files = entries?.iter().map(std::fs::DirEntry::path).collect();
            files.sort();
        }
        for file in files {
            let text = std::fs::read_to_string(&file)?;
            let applied = self.apply(&text).await;
            applied.with_context(|| file.display().to_string())?;
        }
        Ok(())
    }

    async fn apply_one(&self, manifest: &Value) -> anyhow::Result<()> {
        let client = &self.cluster.client;
        let object: DynamicObject = serde_json::from_value(manifest.clone())?;
        let types = object.types.clone().context("no kind")?;
        let gvk = GroupVersionKind::try_from(&types)?;
        let (resource, capabilities) = kube::discovery::pinned_kind(client, &gvk).await?;
        let namespace = object.metadata.namespace.as_deref();
        let objects: Api<DynamicObject> = match capabilities.scope {
            Scope::Cluster => Api::all_with(client.clone(), &resource),
            Scope::Namespaced => {
                let namespace = namespace.unwrap_or(&self.namespace);
                Api::namespaced_with(client.clone(), namespace, &resource)
            }
        };
        // Tests that run at the same time apply shared objects: two creates would conflict.
        let how = PatchParams::apply("tests").force();
        let name = object.metadata.name.as_deref().context("no name")?;
        objects.patch(name, &how, &Patch::Apply(manifest)).await?;
        Ok(())
    }

    /// Returns a path in the test's folder.
    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// Returns a name that no other call returns.
    pub(crate) fn unique(&self, what: &str) -> String {
        format!("{what}-{}", self.names.fetch_add(1, Ordering::Relaxed))
    }

    /// Deletes the namespace, so that its Pods do not load the cluster for other tests.
    pub(crate) async fn end(&self) {
        let namespaces = Api::<Namespace>::all(self.cluster.client.clone());
        let _ = namespaces
            .delete(&self.namespace, &DeleteParams::background())
            .await;
    }

    /// Returns the last lines of the newest operators' logs.
    pub(crate) fn logs(&self) -> String {
        const OPERATORS: usize = 3;
        let mut logs: Vec<PathBuf> = std::fs::read_dir(&self.folder)
            .into_iter()
            .flatten()
            .flatten()
            .map(|entry| entry.path())
            .filter(|path| path.extension().is_some_and(|extension| extension == "log"))
            .collect();
        logs.sort_by_key(|path| std::fs::metadata(path).and_then(|log| log.created()).ok());
        let newest = logs.len().saturating_sub(OPERATORS);
        logs[newest..].iter().map(|path| last_lines(path)).collect()
    }
}

/// Returns the end of a log, after a line with its path.
fn last_lines(path: &Path) -> String {
    const LINES: usize = 40;
    const CHARACTERS: usize = 500;
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let lines: Vec<&str> = text.lines().collect();
    let mut last = format!("--- {} (last lines)\n", path.display());
    for line in &lines[lines.len().saturating_sub(LINES)..] {
        last.extend(line.chars().take(CHARACTERS));
        last.push('\n');
    }
    last
}
