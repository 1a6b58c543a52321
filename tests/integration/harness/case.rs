//! One test's share of the cluster.

use std::any::Any;
use std::future::Future;
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::Context;
use futures::FutureExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::Api;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kube::discovery::Scope;
use rhai_operator::model::yaml;
use serde_json::{Value, json};

use super::certificate::{self, Certificate};
use super::kubectl::Missing;
use super::{Cluster, Crd, Ground, Unable, User, run_folder};

/// A test: its namespace, its API group and its folder. Clones are the same test.
#[derive(Clone)]
pub(crate) struct Case {
    /// The cluster that it runs on.
    pub(crate) cluster: Arc<Cluster>,
    /// A namespace of its own.
    pub(crate) namespace: String,
    /// An API group of its own, for custom kinds.
    pub(crate) group: String,
    folder: PathBuf,
    made: Arc<AtomicUsize>,
}

/// Runs a test; what its operators logged is part of its failure.
pub(super) async fn run<F>(
    ground: Ground,
    name: &str,
    test: impl FnOnce(Case) -> F,
) -> Result<(), Unable>
where
    F: Future<Output = anyhow::Result<()>>,
{
    let case = Case::make(ground, name)
        .await
        .map_err(|error| Unable::Failed(format!("{error:#}")))?;
    let outcome = AssertUnwindSafe(test(case.clone())).catch_unwind().await;
    let failure = match outcome {
        Ok(Ok(())) => None,
        Ok(Err(error)) => Some(match error.chain().find_map(|cause| cause.downcast_ref()) {
            Some(Missing(what)) => Unable::Missing(what.clone()),
            None => Unable::Failed(format!("{error:#}\n{}", case.logs())),
        }),
        Err(panic) => {
            let message = message(panic.as_ref());
            Some(Unable::Failed(format!("{message}\n{}", case.logs())))
        }
    };
    case.end().await;
    failure.map_or(Ok(()), Err)
}

impl Case {
    async fn make(ground: Ground, name: &str) -> anyhow::Result<Self> {
        let name = name.replace("::", "-").replace('_', "-");
        // Names of objects are at most 63 characters, and something is put behind this one.
        let namespace: String = name.chars().take(50).collect();
        let namespace = namespace.trim_end_matches('-').to_owned();
        let folder = run_folder::make(&format!("cases/{ground}-{name}"))?;
        Self::on(Cluster::shared(ground).await?, namespace, folder).await
    }

    async fn on(cluster: Arc<Cluster>, namespace: String, folder: PathBuf) -> anyhow::Result<Self> {
        let case = Self {
            group: format!("{namespace}.test"),
            cluster,
            namespace,
            folder,
            made: Arc::default(),
        };
        case.make_namespace(&case.namespace).await?;
        Ok(case)
    }

    /// The same test on a cluster that is nobody else's, where parts may be stopped.
    pub(crate) async fn on_own_cluster(&self) -> anyhow::Result<Self> {
        let cluster = Cluster::start(self.cluster.ground).await?;
        let case = Self::on(cluster, self.namespace.clone(), self.folder.clone()).await?;
        Ok(Self {
            made: self.made.clone(),
            ..case
        })
    }

    /// A further namespace.
    pub(crate) async fn make_namespace(&self, name: &str) -> anyhow::Result<()> {
        let namespace = serde_json::from_value(json!({"metadata": {"name": name}}))?;
        Api::<Namespace>::all(self.cluster.client.clone())
            .create(&PostParams::default(), &namespace)
            .await?;
        Ok(())
    }

    /// A user who may do nothing yet.
    pub(crate) async fn user(&self, name: &str) -> anyhow::Result<User> {
        User::make(&self.cluster, &self.namespace, name, &self.folder).await
    }

    /// A certificate that its authority for users has signed, or another, with the key and a
    /// kubeconfig: `/O=group/CN=name`.
    pub(crate) async fn certificate(
        &self,
        subject: &str,
        signer: certificate::Signer,
    ) -> anyhow::Result<Certificate> {
        let stem = self.path(&self.unique("certificate"));
        certificate::make(&self.cluster, &stem, subject, signer).await
    }

    /// A token for a service account that is there already.
    pub(crate) async fn service_account(
        &self,
        namespace: &str,
        name: &str,
    ) -> anyhow::Result<User> {
        User::make(&self.cluster, namespace, name, &self.folder).await
    }

    /// Makes a custom kind in this test's group, `v1`.
    pub(crate) async fn define(&self, crd: &Crd) -> anyhow::Result<ApiResource> {
        crd.make(self.cluster.client.clone(), &self.group).await?;
        Ok(crd.resource(&self.group))
    }

    /// The objects of a custom kind in this test's namespace, as administrator.
    pub(crate) fn api(&self, resource: &ApiResource) -> Api<DynamicObject> {
        Api::namespaced_with(self.cluster.client.clone(), &self.namespace, resource)
    }

    /// The objects of a built-in kind in this test's namespace, as administrator.
    pub(crate) fn objects<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope, DynamicType = ()>,
    {
        Api::namespaced(self.cluster.client.clone(), &self.namespace)
    }

    /// Applies manifests, by the server; this test's namespace is the default.
    pub(crate) async fn apply(&self, manifests: &str) -> anyhow::Result<()> {
        for manifest in yaml::parse_all(manifests)? {
            self.apply_one(&manifest).await?;
        }
        Ok(())
    }

    /// Applies the manifests of a file, or of the files of a folder.
    pub(crate) async fn apply_path(&self, path: &Path) -> anyhow::Result<()> {
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
        // Tests apply what they share side by side: two creates are no conflict.
        let how = PatchParams::apply("tests").force();
        let name = object.metadata.name.as_deref().context("no name")?;
        objects.patch(name, &how, &Patch::Apply(manifest)).await?;
        Ok(())
    }

    /// A file or folder of this test's own.
    pub(crate) fn path(&self, name: &str) -> PathBuf {
        self.folder.join(name)
    }

    /// A name that no other call gets.
    pub(super) fn unique(&self, what: &str) -> String {
        format!("{what}-{}", self.made.fetch_add(1, Ordering::Relaxed))
    }

    /// Asks for the namespace to go, so that its Pods do not load the cluster for other tests.
    async fn end(&self) {
        let namespaces = Api::<Namespace>::all(self.cluster.client.clone());
        let _ = namespaces
            .delete(&self.namespace, &DeleteParams::background())
            .await;
    }

    /// What the operators logged last: the newest ones, where a test started many.
    fn logs(&self) -> String {
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

/// Enough to see what led to a failure; the whole is in the file that is named.
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

fn message(panic: &(dyn Any + Send)) -> String {
    let text = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    format!(
        "panicked: {}",
        text.unwrap_or("with something that is no text")
    )
}
