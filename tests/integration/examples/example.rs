//! The shared operator of the example tests, and the checks that every example passes.

use std::collections::BTreeMap;
use std::ops::Deref;
use std::path::Path;
use std::sync::Arc;

use anyhow::Context;
use kube::api::{ApiResource, DeleteParams, DynamicObject};
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::sync::OnceCell;

use crate::widgets::Widgets;
use test_harness::{
    Case, Mark, ObjectReference, Operator, PerEnvironment, Project, Requests, SOON, eventually,
};

static SHARED: PerEnvironment<OnceCell<Arc<Operator>>> = PerEnvironment {
    real: OnceCell::const_new(),
    embedded: OnceCell::const_new(),
};

/// One example's kind, seen by the administrator, and the operator that serves it.
pub(crate) struct Example {
    objects: Widgets,
    /// The namespace of its objects, if they are in one.
    namespace: Option<String>,
    pub(crate) operator: Arc<Operator>,
}

impl Deref for Example {
    type Target = Widgets;

    fn deref(&self) -> &Widgets {
        &self.objects
    }
}

/// Returns the names of a custom kind in the API.
pub(crate) fn resource(group: &str, kind: &str) -> ApiResource {
    ApiResource {
        group: group.to_owned(),
        version: "v1alpha1".to_owned(),
        api_version: format!("{group}/v1alpha1"),
        kind: kind.to_owned(),
        plural: format!("{}s", kind.to_lowercase()),
    }
}

/// Returns the names of a built-in kind in the API.
pub(super) fn built_in<K: Resource<DynamicType = ()>>() -> ApiResource {
    ApiResource::erase::<K>(&())
}

/// Applies one of this repository's files or folders.
pub(crate) async fn apply(case: &Case, path: &str) -> anyhow::Result<()> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    case.apply_path(&path).await
}

/// Starts an operator for this repository, with the rights that `deploy/` gives it.
pub(crate) async fn start(case: &Case) -> anyhow::Result<Operator> {
    apply(case, "deploy/cluster-role.yaml").await?;
    // The user outlives the test that comes first.
    let namespace = format!("{}-operator", case.namespace);
    case.create_namespace(&namespace).await?;
    let user = case.service_account(&namespace, "operator").await?;
    user.bind("rhai-operator").await?;
    let project = Project::repository();
    let operator = Operator::builder(case, &project)
        .user(&user)
        .start()
        .await?;
    operator.ready().await?;
    Ok(operator)
}

/// The child's one owner is this object, by a reference that the runtime has set.
pub(super) fn is_owner_of(owner: &DynamicObject, child: &DynamicObject) -> anyhow::Result<()> {
    let [reference] = child.owner_references() else {
        anyhow::bail!("not one owner: {:?}", child.metadata);
    };
    anyhow::ensure!(
        Some(&reference.uid) == owner.uid().as_ref(),
        "{reference:?}"
    );
    let flags = (reference.controller, reference.block_owner_deletion);
    anyhow::ensure!(flags == (Some(true), Some(true)), "{reference:?}");
    Ok(())
}

impl Example {
    /// A kind of the shared cluster, served by the operator that all tests of examples share.
    pub(super) async fn shared(case: &Case, resource: ApiResource) -> anyhow::Result<Self> {
        let start = || async {
            apply(case, "deploy/crds").await?;
            start(case).await.map(Arc::new)
        };
        let shared = SHARED.get(case.cluster.environment);
        let operator = shared.get_or_try_init(start).await?.clone();
        Ok(Self::served_by(operator, case, resource))
    }

    pub(crate) fn served_by(operator: Arc<Operator>, case: &Case, resource: ApiResource) -> Self {
        Self {
            objects: Widgets::existing(case, resource),
            namespace: Some(case.namespace.clone()),
            operator,
        }
    }

    /// Returns the example for a cluster-scoped kind.
    pub(super) fn cluster_scoped(mut self, resource: &ApiResource) -> Self {
        self.namespace = None;
        self.objects.api = Api::all_with(self.case.cluster.client.clone(), resource);
        self
    }

    /// Makes an object with this spec and waits until it is reconciled.
    pub(super) async fn make(&self, name: &str, spec: Value) -> anyhow::Result<DynamicObject> {
        self.make_with(name, json!({"spec": spec})).await?;
        self.is_ready(name).await
    }

    /// Changes the spec and waits until it is reconciled.
    pub(super) async fn set(&self, name: &str, spec: Value) -> anyhow::Result<DynamicObject> {
        self.merge(name, json!({"spec": spec})).await?;
        self.is_ready(name).await
    }

    /// Waits until an object is reconciled in its present generation.
    pub(super) async fn is_ready(&self, name: &str) -> anyhow::Result<DynamicObject> {
        eventually(SOON, &format!("{name} to be ready"), || async {
            let object = self.api.get(name).await?;
            let ready = self.condition(name, "Ready").await?;
            anyhow::ensure!(ready["status"] == "True", "{ready}");
            let observed = ready["observedGeneration"].as_i64();
            anyhow::ensure!(observed == object.metadata.generation, "{ready}");
            Ok(object)
        })
        .await
    }

    /// Waits for a status.
    pub(super) async fn until_status(
        &self,
        name: &str,
        what: &str,
        is_so: impl Fn(&Value) -> bool,
    ) -> anyhow::Result<()> {
        eventually(SOON, what, || async {
            let status = self.api.get(name).await?.data["status"].take();
            anyhow::ensure!(is_so(&status), "{status}");
            Ok(())
        })
        .await
    }

    /// Objects of another kind in the test's namespace.
    pub(super) fn others(&self, resource: &ApiResource) -> Api<DynamicObject> {
        self.case.api(resource)
    }

    /// Returns the name of an object in the log, without its kind.
    pub(super) fn in_the_log(&self, name: &str) -> String {
        match &self.namespace {
            Some(namespace) => format!(" {namespace}/{name}"),
            None => format!(" {name}"),
        }
    }

    /// The log's entries of an object's runs so far.
    pub(super) fn runs(&self, name: &str) -> anyhow::Result<Vec<Value>> {
        let object = self.in_the_log(name);
        let log = self.operator.log()?;
        let entries = log
            .lines()
            .filter_map(|line| serde_json::from_str(line).ok());
        Ok(entries
            .filter(|entry: &Value| entry["message"] == "run ended")
            .filter(|entry| {
                let of = entry["span"]["object.ref"].as_str().unwrap_or_default();
                of.ends_with(&object)
            })
            .collect())
    }

    /// Counts the runs by their triggers.
    pub(super) fn reasons(&self, name: &str) -> anyhow::Result<BTreeMap<String, usize>> {
        let mut reasons = BTreeMap::new();
        for run in self.runs(name)? {
            let reason = run["span"]["object.reason"].as_str().unwrap_or_default();
            *reasons.entry(reason.to_owned()).or_default() += 1;
        }
        Ok(reasons)
    }

    /// Checks the common guarantees of examples on the sample.
    pub(super) async fn keeps_its_promises(
        &self,
        sample: &str,
        name: &str,
        children: &[(ApiResource, &str)],
    ) -> anyhow::Result<()> {
        apply(&self.case, &format!("deploy/samples/{sample}")).await?;
        self.is_waited_for_by_kubectl(name).await?;
        let owner = self.api.get(name).await?;
        for (resource, child) in children {
            is_owner_of(&owner, &self.others(resource).get(child).await?)?;
        }
        let here = |of: &ObjectReference| of.namespace == self.case.namespace;
        self.asks_nothing_in_a_second_run(name, here).await?;
        for (resource, child) in children {
            self.recreates(resource, child).await?;
        }
        self.is_ready(name).await?;
        self.delete(name).await?;
        for (resource, child) in children {
            self.has_gone(resource, child).await?;
        }
        self.is_gone(name).await
    }

    pub(super) async fn is_waited_for_by_kubectl(&self, name: &str) -> anyhow::Result<()> {
        let object = self.api.get(name).await?;
        let types = object.types.context("an object without a kind")?;
        let (group, _) = types.api_version.split_once('/').context("no group")?;
        let object = format!("{}.{group}/{name}", types.kind.to_lowercase());
        let namespace = ["-n", &self.case.namespace];
        let wait = ["wait", "--for=condition=Ready", "--timeout=60s", &object];
        let waited = self.case.cluster.kubectl(namespace.iter().chain(&wait));
        if let Err(error) = waited.await {
            let status = self.api.get(name).await?.data["status"].take();
            anyhow::bail!("{error:#}\n{status:#}");
        }
        Ok(())
    }

    /// Waits for a run that sends no request, because nothing changed. An earlier change can have late
    /// effects, so that several runs can be necessary. Objects of other tests are not `concerned`.
    pub(super) async fn asks_nothing_in_a_second_run(
        &self,
        name: &str,
        concerned: impl Fn(&ObjectReference) -> bool,
    ) -> anyhow::Result<()> {
        eventually(SOON, "a run that asks nothing", || async {
            let mark = self.case.cluster.audit.mark().await?;
            self.request_run(name).await?;
            let requests = self.requests(mark, &concerned).await?;
            let requests = requests.without_watches().counted();
            anyhow::ensure!(requests.is_empty(), "{requests:?}");
            Ok(())
        })
        .await
    }

    /// Returns the operator's requests about some objects.
    pub(super) async fn requests(
        &self,
        mark: Mark,
        concerned: impl Fn(&ObjectReference) -> bool,
    ) -> anyhow::Result<Requests> {
        let requests = self.case.cluster.audit.since(mark).await?;
        let requests = requests.by(&self.operator.user.name);
        Ok(requests.filter(|request| concerned(&request.object_ref)))
    }

    /// Asks for a run and waits until it has ended.
    async fn request_run(&self, name: &str) -> anyhow::Result<()> {
        let requested = || -> anyhow::Result<usize> {
            let reasons = self.reasons(name)?;
            Ok(reasons.get("requested").copied().unwrap_or_default())
        };
        let before = requested()?;
        let annotations = json!({"rhai.operator/reconcile-at": format!("run {before}")});
        self.merge(name, json!({"metadata": {"annotations": annotations}}))
            .await?;
        eventually(SOON, "the run that was asked for", || async {
            anyhow::ensure!(requested()? > before, "{:?}", self.reasons(name)?);
            Ok(())
        })
        .await
    }

    /// A child that somebody deletes is there again.
    async fn recreates(&self, resource: &ApiResource, child: &str) -> anyhow::Result<()> {
        let api = self.others(resource);
        let before = api.get(child).await?.uid();
        api.delete(child, &DeleteParams::default()).await?;
        let what = format!("a new {} {child}", resource.kind);
        eventually(SOON, &what, || async {
            let now = api.get(child).await?;
            anyhow::ensure!(now.uid() != before, "{:?}", now.metadata);
            Ok(())
        })
        .await
    }

    pub(super) async fn has_gone(&self, resource: &ApiResource, child: &str) -> anyhow::Result<()> {
        let api = self.others(resource);
        let what = format!("the end of the {} {child}", resource.kind);
        eventually(SOON, &what, || async {
            let left = api.get_opt(child).await?;
            anyhow::ensure!(left.is_none(), "{:?}", left.map(|left| left.metadata));
            Ok(())
        })
        .await
    }
}
