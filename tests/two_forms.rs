//! The Memcached example as a script, as a pipeline, and as the script that the pipeline is converted to: the
//! API server sees the same requests.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::sync::Arc;

use http_body_util::BodyExt;
use kube::api::{ApiResource, DynamicObject, GroupVersionKind, Patch, PatchParams, PostParams};
use kube::client::Body;
use kube::{Api, Client};
use parking_lot::Mutex;
use rhai_operator::apiserver::simulation::{Control, Target};
use rhai_operator::apiserver::{self, ApiServer, User};
use rhai_operator::clock::Clock;
use rhai_operator::cluster::connect::{self, Source, connect};
use rhai_operator::model::{Gvk, Object, Reason, yaml};
use rhai_operator::reconcile::{Context, Input, Mode, Subscription, reconcile};
use rhai_operator::role::{Entry, Roles, load, pipeline};
use rhai_operator::script::Pool;
use rhai_operator::{host, watches};
use serde_json::{Value, json};
use tempfile::TempDir;

/// What the API server was asked for, in order.
type Requests = Arc<Mutex<Vec<String>>>;

/// An API server that holds the CRDs of the examples, and one Memcached.
struct Ground {
    requests: Requests,
    context: Context,
    memcacheds: Api<DynamicObject>,
    roles: Arc<Roles>,
}

fn repository(path: &str) -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(path)
}

fn recording(server: &ApiServer, requests: &Requests) -> Client {
    let (service, requests) = (server.client(User::admin()), Arc::clone(requests));
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
    for pointer in ["/metadata/uid", "/metadata/resourceVersion"] {
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

async fn ground(role: &Path) -> Ground {
    let requests = Requests::default();
    // Pods that never start: what a run sees of them does not depend on when it looks.
    let simulation = Control::new();
    simulation.hold(Target::default());
    let server = ApiServer::new(apiserver::Options {
        simulation,
        ..apiserver::Options::default()
    });
    let client = recording(&server, &requests);
    let crds = kube::api::ApiResource::erase::<
        k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition,
    >(&());
    let crds: Api<DynamicObject> = Api::all_with(client.clone(), &crds);
    let crd = repository("deploy/crds");
    let mut files = fs::read_dir(crd).unwrap().map(|file| file.unwrap().path());
    let crd = files
        .find(|file| file.to_string_lossy().contains("memcached"))
        .unwrap();
    let crd = yaml::parse(&fs::read_to_string(crd).unwrap()).unwrap();
    let crd = serde_json::from_value(crd).unwrap();
    crds.create(&PostParams::default(), &crd).await.unwrap();

    let kind = GroupVersionKind::gvk("cache.example.com", "v1alpha1", "Memcached");
    let kind = ApiResource::from_gvk(&kind);
    let memcacheds: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &kind);
    let memcached = json!({
        "apiVersion": "cache.example.com/v1alpha1", "kind": "Memcached",
        "metadata": {"name": "cache"}, "spec": {"size": 3},
    });
    let memcached = serde_json::from_value(memcached).unwrap();
    memcacheds
        .create(&PostParams::default(), &memcached)
        .await
        .unwrap();

    let connection = connect(connect::Options {
        source: Source::Client(client),
        ..connect::Options::default()
    });
    let toolchain = host::toolchain();
    // Under one name, for the messages that name it.
    let loaded = load(role, "memcached", &toolchain).unwrap();
    let runtime = tokio::runtime::Handle::current();
    let pool = Arc::new(Pool::new(toolchain.engine, 1, runtime));
    Ground {
        context: Context::new(connection.await.unwrap().cluster, pool, Clock::system()),
        roles: Arc::new(
            [(Arc::from("memcached"), Arc::new(loaded.role))]
                .into_iter()
                .collect(),
        ),
        requests,
        memcacheds,
    }
}

impl Ground {
    /// One run: how it ended, what it read, and what it wrote, in order.
    async fn run(&self) -> (String, BTreeSet<String>, Vec<String>) {
        let gvk = Gvk::new("cache.example.com", "v1alpha1", "Memcached");
        let cr = self.memcacheds.get("cache").await.unwrap();
        let cr = Object::from_value(&gvk, &serde_json::to_value(cr).unwrap()).unwrap();
        self.requests.lock().clear();
        let input = Input {
            cr: Arc::new(cr),
            watch: Arc::new(watches::Watch::new(gvk, "memcached")),
            roles: Arc::clone(&self.roles),
            reason: Reason::Changed,
            mode: Mode::Operator,
            cancel: tokio_util::sync::CancellationToken::new(),
            history: Arc::default(),
        };
        let report = reconcile(&self.context, input).await;
        let reads = report.reads.iter().map(|read| match read {
            Subscription::Object(object, _) => object.to_string(),
            Subscription::List(query, _) => format!("{query:?}"),
        });
        let requests = std::mem::take(&mut *self.requests.lock()).into_iter();
        // Watches, and the look for what earlier roles made, go on beside the runs; so do Events.
        let beside = ["GET ", "POST /apis/events", "POST /apis/authorization"];
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
        let patched = self.memcacheds.patch("cache", &options, &patch);
        patched.await.unwrap();
    }
}

/// A role with the script that the pipeline is converted to.
fn converted() -> TempDir {
    let from = repository("roles/memcached-steps");
    let role = load(&from, "memcached", &host::toolchain()).unwrap().role;
    let Entry::Pipeline(pipeline) = &role.entry else {
        panic!("it is a pipeline")
    };
    let folder = TempDir::new().unwrap();
    for part in ["tasks", "defaults", "meta"] {
        fs::create_dir(folder.path().join(part)).unwrap();
    }
    let script = folder.path().join("tasks/main.rhai");
    fs::write(script, pipeline::convert(&role, pipeline)).unwrap();
    for file in ["defaults/main.yaml", "meta/main.yaml"] {
        fs::copy(from.join(file), folder.path().join(file)).unwrap();
    }
    folder
}

#[tokio::test(flavor = "multi_thread")]
async fn the_script_and_the_pipeline_of_memcached_send_the_same_requests() {
    let converted = converted();
    let script = ground(&repository("roles/memcached")).await;
    let pipeline = ground(&repository("roles/memcached-steps")).await;
    let converted = ground(converted.path()).await;
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
