//! The cost of a run that changes nothing: five reads and five applies without a request, and five applies
//! of a script beside the same five of a pipeline, which may cost at most twice as much.
//!
//! The server is a fake in this process that stores what is applied. The benchmark checks that no request
//! reaches it while the time is measured. Command: `cargo bench --bench noop`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a benchmark that panics is a benchmark that fails"
)]

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context as TaskContext, Poll};

use divan::Bencher;
use http::{Method, Request, Response, StatusCode};
use hyper::body::{Body as HttpBody, Bytes, Frame};
use kube::client::Body;
use parking_lot::Mutex;
use rhai_operator::clock::Clock;
use rhai_operator::cluster::{Cluster, Settings, transport};
use rhai_operator::host;
use rhai_operator::model::{Gvk, Object, Outcome, Reason};
use rhai_operator::reconcile::{Context, Input, Report, reconcile};
use rhai_operator::role::Project;
use rhai_operator::script::Pool;
use rhai_operator::watches::Environment;
use serde_json::{Map, Value, json};
use tokio::runtime::Runtime;

const WATCHES: &str = "
- group: bench.example.com
  version: v1
  kind: Web
  role: web
";

const ROLE: &str = r#"
let labels = #{app: meta.name};
for n in 0..5 {
    let settings = k8s_get("v1", "Secret", `settings-${n}`);
    k8s_apply(#{
        apiVersion: "apps/v1", kind: "Deployment",
        metadata: #{name: `${meta.name}-${n}`, labels: labels},
        spec: #{
            replicas: spec.size,
            selector: #{matchLabels: labels},
            template: #{
                metadata: #{labels: labels},
                spec: #{containers: [#{
                    name: "main", image: "registry.example.com/web:1.2.3",
                    args: ["--port=8080", `--known=${settings != ()}`],
                    ports: [#{name: "http", containerPort: 8080}],
                    resources: #{limits: #{cpu: "1", memory: "64Mi"}},
                }]},
            },
        },
    });
}
set_status(#{size: spec.size});
"#;

/// Five applies as a script.
const SCRIPT: &str = r#"
let labels = #{app: meta.name};
for n in 0..5 {
    k8s_apply(#{
        apiVersion: "apps/v1", kind: "Deployment",
        metadata: #{name: `${meta.name}-${n}`, labels: labels},
        spec: #{
            replicas: spec.size,
            selector: #{matchLabels: labels},
            template: #{
                metadata: #{labels: labels},
                spec: #{containers: [#{
                    name: "main", image: "registry.example.com/web:1.2.3",
                    args: ["--port=8080", `--size=${spec.size}`],
                    ports: [#{name: "http", containerPort: 8080}],
                    resources: #{limits: #{cpu: "1", memory: "64Mi"}},
                }]},
            },
        },
    });
}
set_status(#{size: spec.size});
"#;

/// The apply of one object as a step.
const STEP: &str = r#"
- name: web{n}
  apply:
    apiVersion: apps/v1
    kind: Deployment
    metadata: {name: "${meta.name}-{n}", labels: {app: "${meta.name}"}}
    spec:
      replicas: ${spec.size}
      selector: {matchLabels: {app: "${meta.name}"}}
      template:
        metadata: {labels: {app: "${meta.name}"}}
        spec:
          containers:
          - name: main
            image: registry.example.com/web:1.2.3
            args: ["--port=8080", "--size=${spec.size}"]
            ports: [{name: http, containerPort: 8080}]
            resources: {limits: {cpu: "1", memory: 64Mi}}
"#;

/// Returns the script above as a pipeline.
fn pipeline() -> String {
    let steps = (0..5).map(|n| STEP.replace("{n}", &n.to_string()));
    let status = "- {name: report, status: {size: \"${spec.size}\"}}\n".to_owned();
    steps.chain([status]).collect()
}

fn main() {
    divan::main();
}

#[divan::bench]
fn five_reads_and_five_applies(bencher: Bencher<'_, '_>) {
    Bench::new("main.rhai", ROLE).at_rest(bencher);
}

#[divan::bench]
fn five_applies_by_a_script(bencher: Bencher<'_, '_>) {
    Bench::new("main.rhai", SCRIPT).at_rest(bencher);
}

#[divan::bench]
fn five_applies_by_a_pipeline(bencher: Bencher<'_, '_>) {
    Bench::new("main.yaml", &pipeline()).at_rest(bencher);
}

/// An operator with one custom resource whose children are up to date.
struct Bench {
    runtime: Runtime,
    context: Context,
    input: Input,
    server: Arc<Server>,
}

impl Bench {
    /// With a role of one file.
    fn new(file: &str, text: &str) -> Self {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(1)
            .enable_all()
            .build()
            .unwrap();
        let server = Arc::new(Server::default());
        let project = project(file, text);
        let gvk = Gvk::new("bench.example.com", "v1", "Web");
        let cr = json!({
            "metadata": {"name": "w", "namespace": "n", "uid": "u", "resourceVersion": "1", "generation": 1},
            "spec": {"size": 3},
        });
        server.put("/apis/bench.example.com/v1/namespaces/n/webs/w", cr.clone());
        let context = runtime.block_on(async {
            let asked = Arc::clone(&server);
            let service = tower::service_fn(move |request| {
                let server = Arc::clone(&asked);
                async move { Ok::<_, tower::BoxError>(server.answer(request).await) }
            });
            let cluster = Cluster::new(
                transport::from_client(kube::Client::new(service, "n")),
                Settings::default(),
            );
            let handle = tokio::runtime::Handle::current();
            let pool = Arc::new(Pool::new(host::toolchain().engine, 1, handle));
            Context::new(cluster, pool, Clock::system())
        });
        let cr = Arc::new(Object::from_value(&gvk, &cr).unwrap());
        let input = Input {
            reason: Reason::Period,
            ..Input::new(cr, &project.watches[0], &project.roles)
        };
        let mut bench = Self {
            runtime,
            context,
            input,
            server,
        };
        let first = bench.run();
        assert_eq!(first.effects.writes.len(), 5);
        bench.input.cr = first.cr;
        bench.input.history = first.history;
        bench.settle();
        bench
    }

    /// Waits until the work of a start (watches, the discovery of children) is done.
    fn settle(&self) {
        let requests = || self.server.requests.load(Ordering::SeqCst);
        let (mut quiet, mut known) = (0, requests());
        for _ in 0..10_000 {
            self.run();
            quiet = if requests() == known { quiet + 1 } else { 0 };
            known = requests();
            if quiet == 100 {
                return;
            }
        }
        panic!("requests are made again and again");
    }

    /// Measures runs that send no request.
    fn at_rest(&self, bencher: Bencher<'_, '_>) {
        let requests = self.server.requests.load(Ordering::SeqCst);
        bencher.bench_local(|| self.run());
        assert_eq!(self.server.requests.load(Ordering::SeqCst), requests);
    }

    fn run(&self) -> Report {
        let report = self
            .runtime
            .block_on(reconcile(&self.context, self.input.clone()));
        assert_eq!(report.outcome, Outcome::Done);
        report
    }
}

fn project(file: &str, text: &str) -> Project {
    let folder = tempfile::tempdir().unwrap();
    let tasks = folder.path().join("roles/web/tasks");
    std::fs::create_dir_all(&tasks).unwrap();
    std::fs::write(tasks.join(file), text).unwrap();
    let watches = folder.path().join("watches.yaml");
    std::fs::write(&watches, WATCHES).unwrap();
    let roles = folder.path().join("roles");
    Project::load(
        &watches,
        &roles,
        &Environment::default(),
        &host::toolchain(),
    )
    .unwrap()
}

/// Stores applied and patched objects by path.
#[derive(Default)]
struct Server {
    objects: Mutex<BTreeMap<String, Value>>,
    requests: AtomicUsize,
}

impl Server {
    fn put(&self, path: &str, object: Value) {
        self.objects.lock().insert(path.to_owned(), object);
    }

    async fn answer(&self, request: Request<Body>) -> Response<Reply> {
        let requests = self.requests.fetch_add(1, Ordering::SeqCst);
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        let query = parts.uri.query().unwrap_or_default();
        if query.contains("watch=") {
            return Response::new(Reply::Silence);
        }
        if let Some(resources) = resources(&path) {
            return answer(StatusCode::OK, &resources);
        }
        if path.ends_with("/selfsubjectrulesreviews") {
            let rules = json!({"resourceRules": [], "nonResourceRules": [], "incomplete": false});
            return answer(StatusCode::CREATED, &json!({"status": rules}));
        }
        if parts.method == Method::PATCH || parts.method == Method::POST {
            let body = body.collect_bytes().await.unwrap();
            let sent = serde_json::from_slice(&body).unwrap();
            let path = path.strip_suffix("/status").unwrap_or(&path);
            return self.write(path, sent, query, requests);
        }
        match self.objects.lock().get(&path) {
            Some(object) => answer(StatusCode::OK, object),
            None if path
                .rsplit('/')
                .next()
                .is_some_and(|name| name.starts_with("settings-")) =>
            {
                let status = json!({"kind": "Status", "code": 404, "reason": "NotFound", "message": "absent"});
                answer(StatusCode::NOT_FOUND, &status)
            }
            None => answer(
                StatusCode::OK,
                &json!({"metadata": {"resourceVersion": "1"}, "items": []}),
            ),
        }
    }

    fn write(&self, path: &str, sent: Value, query: &str, version: usize) -> Response<Reply> {
        let mut objects = self.objects.lock();
        let new = !objects.contains_key(path);
        let object = objects.entry(path.to_owned()).or_insert_with(|| json!({}));
        let fields = fields(&sent, true);
        merge(object, sent);
        if new {
            object["metadata"]["uid"] = json!(path);
        }
        object["metadata"]["resourceVersion"] = json!((version + 10).to_string());
        let manager = query.split("fieldManager=").nth(1).unwrap_or_default();
        let manager = manager
            .split('&')
            .next()
            .unwrap_or_default()
            .replace("%2F", "/");
        object["metadata"]["managedFields"] = json!([
            {"manager": manager, "operation": "Apply", "fieldsType": "FieldsV1", "fieldsV1": fields},
        ]);
        let code = if new {
            StatusCode::CREATED
        } else {
            StatusCode::OK
        };
        answer(code, object)
    }
}

fn answer(code: StatusCode, body: &Value) -> Response<Reply> {
    let mut response = Response::new(Reply::Text(Some(body.to_string().into())));
    *response.status_mut() = code;
    response
}

/// Discovery.
fn resources(path: &str) -> Option<Value> {
    let resource = |name: &str, kind: &str| {
        let verbs = ["get", "list", "watch", "create", "patch", "delete"];
        json!({"name": name, "kind": kind, "namespaced": true, "verbs": verbs})
    };
    let resources = match path {
        // There are no other objects that a run could prune.
        "/api" => return Some(json!({"kind": "APIVersions", "versions": []})),
        "/apis" => return Some(json!({"kind": "APIGroupList", "groups": []})),
        "/api/v1" => vec![resource("secrets", "Secret")],
        "/apis/authorization.k8s.io/v1" => {
            vec![resource(
                "selfsubjectrulesreviews",
                "SelfSubjectRulesReview",
            )]
        }
        "/apis/apps/v1" => vec![resource("deployments", "Deployment")],
        "/apis/bench.example.com/v1" => {
            vec![resource("webs", "Web"), resource("webs/status", "Web")]
        }
        "/apis/apiextensions.k8s.io/v1" => {
            vec![resource(
                "customresourcedefinitions",
                "CustomResourceDefinition",
            )]
        }
        _ => return None,
    };
    Some(json!({"resources": resources}))
}

fn merge(base: &mut Value, over: Value) {
    match (base, over) {
        (Value::Object(base), Value::Object(over)) => {
            for (key, value) in over {
                merge(base.entry(key).or_insert(Value::Null), value);
            }
        }
        (base, over) => *base = over,
    }
}

/// Returns the managed fields of an apply, with atomic lists.
fn fields(sent: &Value, top: bool) -> Value {
    let mut set = Map::new();
    for (name, value) in sent.as_object().into_iter().flatten() {
        if top && matches!(name.as_str(), "apiVersion" | "kind") {
            continue;
        }
        let mut below = fields(value, false);
        if top && name == "metadata" {
            for identity in ["f:name", "f:namespace"] {
                below.as_object_mut().unwrap().remove(identity);
            }
        }
        set.insert(format!("f:{name}"), below);
    }
    Value::Object(set)
}

/// The body of a response: a text, or a watch without events.
enum Reply {
    Text(Option<Bytes>),
    Silence,
}

impl HttpBody for Reply {
    type Data = Bytes;
    type Error = std::convert::Infallible;

    fn poll_frame(
        self: Pin<&mut Self>,
        _cx: &mut TaskContext<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Self::Error>>> {
        match self.get_mut() {
            Self::Text(text) => Poll::Ready(text.take().map(|text| Ok(Frame::data(text)))),
            Self::Silence => Poll::Pending,
        }
    }
}
