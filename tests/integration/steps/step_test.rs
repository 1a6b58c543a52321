//! A custom resource, its roles and a cluster: runs are made one by one, by a clock that is held.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use jiff::Timestamp;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams};
use kube::{Api, Client};
use parking_lot::Mutex;
use rhai_operator::clock::{self, Clock};
use rhai_operator::cluster::{Cluster, Settings, transport};
use rhai_operator::host;
use rhai_operator::model::{Gvk, Object, Outcome, Reason};
use rhai_operator::reconcile::{Context, Input, Mode, Report, StepSelection, reconcile};
use rhai_operator::role::Project;
use rhai_operator::script::{Limits, Pool};
use rhai_operator::watches::Environment;
use serde_json::{Value, json};
use tempfile::TempDir;

/// The time that a cluster may take for its own controllers.
const SOON: Duration = Duration::from_mins(2);

/// A cluster, with a namespace and an API group for one test.
#[derive(Clone)]
pub(crate) struct TestNamespace {
    pub(crate) client: Client,
    pub(crate) namespace: String,
    pub(crate) group: String,
}

/// One custom resource of kind `Web`, named `w`.
pub(crate) struct StepTest {
    target: TestNamespace,
    project: Project,
    folder: TempDir,
    requests: Arc<AtomicUsize>,
    now: Arc<Mutex<Timestamp>>,
    context: Context,
    history: Arc<rhai_operator::reconcile::History>,
    pub(crate) mode: Mode,
    pub(crate) reason: Reason,
}

impl StepTest {
    /// With the files of roles, by their paths within `roles/`; the kind's role is `web`.
    pub(crate) async fn new(target: TestNamespace, files: &[(&str, &str)]) -> Self {
        Self::with_status(target, open(), files).await
    }

    /// Creates the custom resource's kind with this schema of the status.
    pub(crate) async fn with_status(
        target: TestNamespace,
        status: Value,
        files: &[(&str, &str)],
    ) -> Self {
        define(&target, status).await;
        let folder = tempfile::tempdir().unwrap();
        let (requests, now) = (Arc::default(), Arc::new(Mutex::new(start())));
        let (project, context) = load(&target, &folder, files, (&requests, &now));
        Self {
            target,
            project,
            folder,
            requests,
            now,
            context,
            history: Arc::default(),
            mode: Mode::Operator,
            reason: Reason::Period,
        }
    }

    /// Discards all state except that of the cluster, as a restart of the process does.
    pub(crate) fn restart(&mut self) {
        self.rewrite(&[]);
    }

    /// Loads the project again, with other files.
    pub(crate) fn rewrite(&mut self, files: &[(&str, &str)]) {
        let held = (&self.requests, &self.now);
        (self.project, self.context) = load(&self.target, &self.folder, files, held);
        self.history = Arc::default();
    }

    /// Selects the steps of the next runs.
    pub(crate) fn select(&mut self, selection: StepSelection) {
        self.context.selection = selection;
    }

    /// Returns the limits of the next runs.
    pub(crate) fn limits(&mut self) -> &mut Limits {
        &mut self.context.limits
    }

    pub(crate) fn pass(&self, time: Duration) {
        *self.now.lock() += time;
    }

    /// Sets the clock back.
    pub(crate) fn set_back(&self, time: Duration) {
        *self.now.lock() -= time;
    }

    /// Makes the custom resource, or gives it another spec.
    pub(crate) async fn spec(&self, spec: Value) {
        let web = json!({
            "apiVersion": format!("{}/v1", self.target.group), "kind": "Web",
            "metadata": {"name": "w"}, "spec": spec,
        });
        let options = PatchParams::apply("user").force();
        let webs = self.api(&web["apiVersion"], "Web");
        webs.patch("w", &options, &Patch::Apply(web)).await.unwrap();
    }

    /// Asks for the custom resource to be deleted.
    pub(crate) async fn delete(&self) {
        let webs = self.webs();
        webs.delete("w", &DeleteParams::default()).await.unwrap();
    }

    pub(crate) async fn web(&self) -> Option<Value> {
        let web = self.webs().get_opt("w").await.unwrap()?;
        Some(serde_json::to_value(web).unwrap())
    }

    /// Runs the role once.
    pub(crate) async fn run(&mut self) -> Report {
        let web = self.web().await.unwrap();
        let gvk = Gvk::new(&self.target.group, "v1", "Web");
        let cr = Arc::new(Object::from_value(&gvk, &web).unwrap());
        let input = Input {
            reason: self.reason,
            mode: self.mode,
            history: Arc::clone(&self.history),
            ..Input::new(cr, &self.project.watches[0], &self.project.roles)
        };
        self.requests.store(0, Ordering::SeqCst);
        let report = reconcile(&self.context, input).await;
        self.history = Arc::clone(&report.history);
        report
    }

    /// Runs the role; it has to be done.
    pub(crate) async fn done(&mut self) -> Report {
        let report = self.run().await;
        assert_eq!(report.outcome, Outcome::Done);
        report
    }

    /// Runs the role; it has to wait. For what.
    pub(crate) async fn waits(&mut self) -> String {
        match self.run().await.outcome {
            Outcome::Waiting { on } => on.to_string(),
            other => panic!("not waiting: {other:?}"),
        }
    }

    /// Runs the role; it has to fail, with a further try. Why.
    pub(crate) async fn fails(&mut self) -> String {
        match self.run().await.outcome {
            Outcome::Failed { message, .. } => message.to_string(),
            other => panic!("not failed: {other:?}"),
        }
    }

    /// Runs the role; it has to fail for good. Why.
    pub(crate) async fn stalls(&mut self) -> String {
        match self.run().await.outcome {
            Outcome::Stalled { message } => message.to_string(),
            other => panic!("not stalled: {other:?}"),
        }
    }

    /// Requests that the last run made.
    pub(crate) fn requests(&self) -> usize {
        self.requests.load(Ordering::SeqCst)
    }

    /// Returns the data of a `ConfigMap`, or null if it does not exist.
    pub(crate) async fn data(&self, name: &str) -> Value {
        let maps = self.api(&"v1".into(), "ConfigMap");
        let map = maps.get_opt(name).await.unwrap();
        map.map_or(Value::Null, |map| map.data["data"].clone())
    }

    /// The names of the `ConfigMap`s that the custom resource owns, in order.
    pub(crate) async fn maps(&self) -> Vec<String> {
        let owned = ListParams::default().labels("rhai.operator/owner");
        let maps = self.api(&"v1".into(), "ConfigMap").list(&owned).await;
        let maps = maps.unwrap().items.into_iter();
        let mut names: Vec<String> = maps.filter_map(|map| map.metadata.name).collect();
        names.sort();
        names
    }

    /// Sets keys of a `ConfigMap`'s data as somebody else.
    pub(crate) async fn set(&self, name: &str, data: Value) {
        let map = json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": data,
        });
        let options = PatchParams::apply("somebody");
        let maps = self.api(&"v1".into(), "ConfigMap");
        maps.patch(name, &options, &Patch::Apply(map))
            .await
            .unwrap();
    }

    pub(crate) async fn status(&self) -> Value {
        self.web().await.unwrap()["status"].clone()
    }

    /// Waits for a run in which nothing is asked of the server.
    pub(crate) async fn until_at_rest(&mut self) {
        let rest = async {
            loop {
                self.done().await;
                if self.requests() == 0 {
                    return;
                }
                clock::sleep(Duration::from_millis(20)).await;
            }
        };
        tokio::time::timeout(SOON, rest).await.unwrap();
    }

    /// Runs the role until it is done.
    pub(crate) async fn until_done(&mut self) -> Report {
        let deadline = clock::now() + SOON;
        loop {
            let report = self.run().await;
            if report.outcome == Outcome::Done {
                return report;
            }
            let outcome = &report.outcome;
            assert!(
                clock::now() < deadline,
                "{outcome:?}: {:#?}",
                report.effects.steps
            );
            clock::sleep(Duration::from_millis(20)).await;
        }
    }

    fn webs(&self) -> Api<DynamicObject> {
        self.api(&format!("{}/v1", self.target.group).into(), "Web")
    }

    fn api(&self, api_version: &Value, kind: &str) -> Api<DynamicObject> {
        let api_version = api_version.as_str().unwrap();
        let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
        let resource = ApiResource {
            group: group.into(),
            version: version.into(),
            api_version: api_version.into(),
            kind: kind.into(),
            plural: format!("{}s", kind.to_lowercase()),
        };
        let client = self.target.client.clone();
        Api::namespaced_with(client, &self.target.namespace, &resource)
    }
}

/// Returns the time at which the manual clock begins.
fn start() -> Timestamp {
    "2026-01-01T00:00:00Z".parse().unwrap()
}

fn open() -> Value {
    json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true})
}

/// Loads the roles, and makes what runs of one process share.
fn load(
    target: &TestNamespace,
    folder: &TempDir,
    files: &[(&str, &str)],
    (requests, now): (&Arc<AtomicUsize>, &Arc<Mutex<Timestamp>>),
) -> (Project, Context) {
    let watches = folder.path().join("watches.yaml");
    let group = &target.group;
    let finalizer = "{name: pipelines.example.com/gone}";
    let text =
        format!("[{{group: {group}, version: v1, kind: Web, role: web, finalizer: {finalizer}}}]");
    std::fs::write(&watches, text).unwrap();
    let roles = folder.path().join("roles");
    for (path, text) in files {
        let path = roles.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let toolchain = host::toolchain();
    let project = Project::load(&watches, &roles, &Environment::default(), &toolchain);
    let project = project.unwrap_or_else(|problems| {
        let problems: Vec<String> = problems.iter().map(ToString::to_string).collect();
        panic!("{}", problems.join("\n"))
    });
    let (client, counted) = (target.client.clone(), Arc::clone(requests));
    let service = tower::service_fn(move |request: http::Request<kube::client::Body>| {
        counted.fetch_add(1, Ordering::SeqCst);
        let client = client.clone();
        async move { client.send(request).await }
    });
    let cluster = Cluster::new(
        transport::from_client(Client::new(service, &target.namespace)),
        Settings::default(),
    );
    let handle = tokio::runtime::Handle::current();
    let pool = Arc::new(Pool::new(toolchain.engine, 2, handle));
    let now = Arc::clone(now);
    let clock = Clock::from_fn(move || *now.lock());
    let mut context = Context::new(cluster, pool, clock.clone());
    // The test advances this clock without monotonic time.
    context.timeout_clock = clock;
    (project, context)
}

/// Makes the kind `Web` and waits until the API serves it.
async fn define(target: &TestNamespace, status: Value) {
    let group = &target.group;
    let crd = json!({
        "metadata": {"name": format!("webs.{group}")},
        "spec": {
            "group": group, "scope": "Namespaced",
            "names": {"kind": "Web", "plural": "webs", "singular": "web"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": open(), "status": status},
                }},
            }],
        },
    });
    let crd: CustomResourceDefinition = serde_json::from_value(crd).unwrap();
    let crds = Api::<CustomResourceDefinition>::all(target.client.clone());
    crds.create(&kube::api::PostParams::default(), &crd)
        .await
        .unwrap();
    let name = format!("webs.{group}");
    let established = kube::runtime::conditions::is_crd_established();
    let wait = kube::runtime::wait::await_condition(crds, &name, established);
    tokio::time::timeout(SOON, wait).await.unwrap().unwrap();
}
