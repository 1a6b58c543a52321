//! A role as a pipeline, and as the script that the pipeline is converted to (the Memcached example as a
//! script of its own, too): the API server sees the same requests.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use embedded_apiserver::simulation::{Control, Target};
use embedded_apiserver::{self as apiserver, ApiServer, User};
use http_body_util::BodyExt;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams,
};
use kube::client::Body;
use kube::{Api, Client};
use parking_lot::Mutex;
use rhai_operator::clock::Clock;
use rhai_operator::cluster::connect::{self, Source, connect};
use rhai_operator::model::{Gvk, Object, Reason, yaml};
use rhai_operator::pipeline;
use rhai_operator::reconcile::{Context, Input, reconcile};
use rhai_operator::role::{Entry, Role, Roles, load};
use rhai_operator::script::Pool;
use rhai_operator::{host, watches};
use serde_json::{Value, json};
use tempfile::TempDir;

use test_harness::copy_folder;

/// The requests that the API server received, in order.
type Requests = Arc<Mutex<Vec<String>>>;

/// An API server that holds one custom resource.
struct TestCluster {
    requests: Requests,
    context: Context,
    crs: Api<DynamicObject>,
    name: String,
    watch: Arc<watches::Watch>,
    roles: Arc<Roles>,
}

/// A custom resource, its CRD, and the Secrets beside it.
struct Example {
    crd: Value,
    cr: Value,
    secrets: Vec<Value>,
}

impl Example {
    fn memcached() -> Self {
        let files = fs::read_dir(repository("deploy/crds")).unwrap();
        let mut files = files.map(|file| file.unwrap().path());
        let crd = files.find(|file| file.to_string_lossy().contains("memcached"));
        let cr = json!({
            "apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
            "metadata": {"name": "cache"}, "spec": {"size": 3},
        });
        Self {
            crd: read(&crd.unwrap()),
            cr,
            secrets: Vec::new(),
        }
    }

    fn guide() -> Self {
        let read = |path: &str| read(&repository("tests/pipelines/guide").join(path));
        Self {
            crd: read("crds/database.yaml"),
            cr: read("cr.yaml"),
            secrets: vec![read("objects.yaml")],
        }
    }
}

fn read(file: &Path) -> Value {
    yaml::parse(&fs::read_to_string(file).unwrap()).unwrap()
}

fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn recording(server: &ApiServer, requests: &Requests) -> Client {
    let (service, requests) = (server.service_as(User::admin()), Arc::clone(requests));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (service, requests) = (service.clone(), Arc::clone(&requests));
        async move {
            let (parts, body) = request.into_parts();
            let body = body.collect().await.unwrap().to_bytes();
            requests.lock().push(line(&parts, &body));
            let request = http::Request::from_parts(parts, Body::from(body.to_vec()));
            tower::ServiceExt::oneshot(service, request).await
        }
    });
    Client::new(service, "default")
}

/// A request without what differs between any two runs: uids, versions and times.
fn line(parts: &http::request::Parts, body: &[u8]) -> String {
    let mut body: Value = serde_json::from_slice(body).unwrap_or_default();
    for pointer in [
        "/metadata/uid",
        "/metadata/resourceVersion",
        "/preconditions/uid",
    ] {
        body.pointer_mut(pointer).map(Value::take);
    }
    if let Some(owner) = body.pointer_mut("/metadata/labels/rhai.operator~1owner") {
        owner.take();
    }
    if let Some(uid) = body.pointer_mut("/metadata/ownerReferences/0/uid") {
        uid.take();
    }
    if let Some(Value::Array(conditions)) = body.pointer_mut("/status/conditions") {
        for condition in conditions {
            condition["lastTransitionTime"].take();
            // It names the place in the script or the step.
            condition["message"].take();
        }
    }
    if let Some(Value::Array(nodes)) = body.pointer_mut("/status/nodes") {
        nodes.fill("a Pod".into());
    }
    format!("{} {} {body}", parts.method, parts.uri.path())
}

/// Roles by their names, and the folders that they are in.
type Folders<'a> = [(&'a str, &'a Path)];

/// The first role is that of the custom resource.
async fn set_up(example: &Example, roles: &Folders<'_>) -> TestCluster {
    let requests = Requests::default();
    // The Pods never start, so that a run reads the same state at any time.
    let simulation = Control::new();
    simulation.hold(Target::default());
    let server = ApiServer::new(apiserver::Options {
        simulation,
        ..apiserver::Options::default()
    });
    let client = recording(&server, &requests);
    let api = |kind: &GroupVersionKind| -> Api<DynamicObject> {
        Api::namespaced_with(client.clone(), "default", &ApiResource::from_gvk(kind))
    };
    let make = async |api: Api<DynamicObject>, object: &Value| {
        let object = serde_json::from_value(object.clone()).unwrap();
        api.create(&PostParams::default(), &object).await.unwrap();
    };
    let crds = ApiResource::erase::<
        k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    >(&());
    make(Api::all_with(client.clone(), &crds), &example.crd).await;
    for secret in &example.secrets {
        make(api(&GroupVersionKind::gvk("", "v1", "Secret")), secret).await;
    }
    let (group, version) = example.cr["apiVersion"]
        .as_str()
        .unwrap()
        .split_once('/')
        .unwrap();
    let kind = example.cr["kind"].as_str().unwrap();
    let crs = api(&GroupVersionKind::gvk(group, version, kind));
    make(crs.clone(), &example.cr).await;

    let connection = connect(connect::Options {
        source: Source::Client(client.clone()),
        ..connect::Options::default()
    });
    let toolchain = host::toolchain();
    let loaded = roles.iter().map(|(name, folder)| {
        let role = load(folder, name, &toolchain).unwrap_or_else(|errors| panic!("{errors:?}"));
        (Arc::from(*name), Arc::new(role.role))
    });
    let loaded: Roles = loaded.collect();
    let role = loaded.get(roles[0].0).unwrap();
    let watch = watch(Gvk::new(group, version, kind), role);
    let runtime = tokio::runtime::Handle::current();
    let pool = Arc::new(Pool::new(toolchain.engine, 1, runtime));
    TestCluster {
        context: Context::new(connection.await.unwrap().cluster, pool, Clock::system()),
        roles: Arc::new(loaded),
        watch: Arc::new(watch),
        requests,
        crs,
        name: example.cr["metadata"]["name"].as_str().unwrap().to_owned(),
    }
}

/// The watch of a role, with a finalizer where it has something to do at the end.
fn watch(kind: Gvk, role: &Role) -> watches::Watch {
    let mut watch = watches::Watch::new(kind, &*role.name);
    watch.finalizer = role.finalize.as_ref().map(|_| watches::Finalizer {
        name: "example.com/end".into(),
        role: None,
        role_position: watch.role_position,
        vars: serde_json::Map::new(),
        timeout: None,
        on_failure: watches::FinalizerFailure::default(),
    });
    watch
}

impl TestCluster {
    /// Runs the role once. Returns the outcome, the reads, and the writes in their order.
    async fn run(&self) -> (String, BTreeSet<String>, Vec<String>) {
        let Some(cr) = self.crs.get_opt(&self.name).await.unwrap() else {
            return ("gone".to_owned(), BTreeSet::new(), Vec::new());
        };
        let cr = serde_json::to_value(cr).unwrap();
        let cr = Object::from_value(&self.watch.gvk, &cr).unwrap();
        self.requests.lock().clear();
        let input = Input {
            reason: Reason::Changed,
            ..Input::new(Arc::new(cr), &self.watch, &self.roles)
        };
        let report = reconcile(&self.context, input).await;
        let objects = report.effects.reads.objects();
        let objects = objects.map(|(object, _)| object.to_string());
        let lists = report.effects.reads.lists();
        let reads = objects.chain(lists.map(|(query, _)| format!("{query:?}")));
        let requests = std::mem::take(&mut *self.requests.lock()).into_iter();
        // Watches, and the look for what earlier roles made, go on beside the runs; so do Events.
        let beside = [
            "GET ",
            "POST /apis/events",
            "PATCH /apis/events",
            "POST /apis/authorization",
        ];
        let of_run = |line: &String| !beside.iter().any(|start| line.starts_with(start));
        let writes = requests.filter(of_run).collect();
        (report.outcome.as_str().to_owned(), reads.collect(), writes)
    }

    /// Runs until nothing is left to write. Of the status the first write is kept: how a wait is worded
    /// changes while the Deployment is seen to grow.
    async fn converge(&self) -> (String, BTreeSet<String>, Vec<String>) {
        let mut all = Vec::new();
        for _ in 0..100 {
            let (outcome, reads, writes) = self.run().await;
            if writes.is_empty() {
                return (outcome, reads, all);
            }
            for line in writes {
                let is_status = |line: &String| line.contains("/status ");
                if !is_status(&line) || !all.iter().any(is_status) {
                    all.push(line);
                }
            }
        }
        panic!("it goes on writing: {all:#?}")
    }

    async fn resize(&self, size: u64) {
        let patch = Patch::Merge(json!({"spec": {"size": size}}));
        let options = PatchParams::default();
        let patched = self.crs.patch(&self.name, &options, &patch);
        patched.await.unwrap();
    }

    async fn delete(&self) {
        let options = DeleteParams::default();
        self.crs.delete(&self.name, &options).await.unwrap();
    }
}

/// A role with the scripts that its pipelines are converted to.
fn converted(from: &Path, name: &str) -> TempDir {
    let role = load(from, name, &host::toolchain());
    let role = role.unwrap_or_else(|errors| panic!("{errors:?}")).role;
    let folder = TempDir::new().unwrap();
    copy_folder(from, folder.path()).unwrap();
    for (entry, file) in [
        (Some(&role.entry), "main"),
        (role.finalize.as_ref(), "finalize"),
    ] {
        let Some(Entry::Pipeline(pipeline)) = entry else {
            continue;
        };
        let tasks = folder.path().join("tasks");
        fs::remove_file(tasks.join(file).with_extension("yaml")).unwrap();
        let script = pipeline::convert(pipeline, &role.templates, &host::VARIABLES);
        fs::write(tasks.join(file).with_extension("rhai"), script).unwrap();
    }
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_and_the_pipeline_of_memcached_send_the_same_requests() {
    let example = Example::memcached();
    let steps = repository("roles/memcached-steps");
    let converted = converted(&steps, "memcached");
    // Under one name, for the messages that name it.
    let script = set_up(&example, &[("memcached", &repository("roles/memcached"))]).await;
    let pipeline = set_up(&example, &[("memcached", &steps)]).await;
    let converted = set_up(&example, &[("memcached", converted.path())]).await;
    let first = script.converge().await;
    assert_eq!(pipeline.converge().await, first);
    assert_eq!(converted.converge().await, first);
    // The Deployment, and the status.
    assert_eq!((&*first.0, first.2.len()), ("waiting", 2), "{first:#?}");

    for form in [&script, &pipeline, &converted] {
        form.resize(5).await;
    }
    let resized = script.converge().await;
    assert_eq!(pipeline.converge().await, resized);
    assert_eq!(converted.converge().await, resized);
    assert_eq!(resized.2.len(), 2, "{resized:#?}");
    assert!(resized.2[0].contains("\"replicas\":5"), "{resized:#?}");
}

/// Each file of `tests/pipelines/convert/` is the pipeline of a role, with the files of the guide's beside;
/// a line `# file: PATH` begins another file of it.
#[tokio::test(flavor = "multi_thread")]
async fn each_pipeline_and_its_script_send_the_same_requests() {
    let guide = repository("tests/pipelines/guide");
    let certificates = guide.join("certificates");
    let mut compared = 0;
    for file in fs::read_dir(repository("tests/pipelines/convert")).unwrap() {
        let file = file.unwrap().path();
        let steps = TempDir::new().unwrap();
        copy_folder(&guide.join("role"), steps.path()).unwrap();
        let text = "# file: tasks/main.yaml\n".to_owned() + &fs::read_to_string(&file).unwrap();
        for part in text.split("# file: ").skip(1) {
            let (path, text) = part.split_once('\n').unwrap();
            fs::write(steps.path().join(path), text).unwrap();
        }
        let script = converted(steps.path(), "database");
        let example = Example::guide();
        let beside = ("certificates", &*certificates);
        let pipeline = set_up(&example, &[("database", steps.path()), beside]).await;
        let converted = set_up(&example, &[("database", script.path()), beside]).await;
        let told = || {
            let main = fs::read_to_string(script.path().join("tasks/main.rhai")).unwrap();
            format!("{}:\n{main}", file.display())
        };
        let first = pipeline.converge().await;
        assert_eq!(converted.converge().await, first, "{}", told());
        assert!(!first.2.is_empty(), "{} writes nothing", file.display());
        if pipeline.watch.finalizer.is_some() {
            pipeline.delete().await;
            converted.delete().await;
            let last = pipeline.converge().await;
            assert_eq!(converted.converge().await, last, "{}", told());
            assert_eq!(last.0, "gone");
        }
        compared += 1;
    }
    assert!(compared > 10, "{compared} pipelines were compared");
}
