//! The cost of a run without the API server, and of values that scripts receive and return.

use std::hint::black_box;
use std::sync::Arc;
use std::time::Duration;

use divan::Bencher;
use rhai::plugin::export_module;
use rhai::{Dynamic, EvalAltResult, NativeCallContext};
use rhai_operator::clock;
use rhai_operator::script::value::{from_json, to_dynamic, to_value, write_json};
use rhai_operator::script::{Engine, Job, Limits, Pool, Program, Sources, Variables, block_on};
use serde_json::{Value, json};
use tokio::runtime::Runtime;
use tokio_util::sync::CancellationToken;

fn main() {
    divan::main();
}

/// Five reads and five applies, as a role without changes makes them.
const ROLE: &str = r#"
import "names" as names;

fn labels() {
    #{ "app.kubernetes.io/name": meta.name, "app.kubernetes.io/managed-by": "rhai-operator" }
}

fn deployment(config_hash) {
    #{
        apiVersion: "apps/v1", kind: "Deployment",
        metadata: #{ name: meta.name, labels: labels() },
        spec: #{
            replicas: spec.size ?? 1,
            selector: #{ matchLabels: labels() },
            template: #{
                metadata: #{ labels: labels(), annotations: #{ config: config_hash } },
                spec: #{ containers: [#{
                    name: "app", image: `${spec.image}:${spec.tag ?? "latest"}`,
                    ports: spec.ports.map(|p| #{ name: p.name, containerPort: p.number }),
                    env: spec.env.keys().map(|k| #{ name: names::variable(k), value: spec.env[k] }),
                    resources: spec.resources,
                }] },
            },
        },
    }
}

let config = k8s_get("v1", "ConfigMap", names::config());
let hash = if config == () { "none" } else { config.data.hash };
let password = k8s_get("v1", "Secret", meta.name + "-password");
let account = k8s_get("v1", "ServiceAccount", meta.name);
let quota = k8s_get("v1", "ResourceQuota", "default");
let peer = k8s_get("apps/v1", "Deployment", meta.name + "-peer");

k8s_apply(#{ apiVersion: "v1", kind: "ConfigMap", metadata: #{ name: names::config(), labels: labels() }, data: #{ hash: hash } });
k8s_apply(#{ apiVersion: "v1", kind: "ServiceAccount", metadata: #{ name: meta.name, labels: labels() } });
let live = k8s_apply(deployment(hash));
k8s_apply(#{
    apiVersion: "v1", kind: "Service", metadata: #{ name: meta.name, labels: labels() },
    spec: #{ selector: labels(), ports: spec.ports.map(|p| #{ name: p.name, port: p.number }) },
});
k8s_apply(#{ apiVersion: "policy/v1", kind: "PodDisruptionBudget", metadata: #{ name: meta.name, labels: labels() }, spec: #{ minAvailable: 1, selector: #{ matchLabels: labels() } } });
if live.status.readyReplicas ?? 0 < spec.size { "waiting" } else { "ready" }
"#;

const NAMES: &str = r#"
fn config() { meta.name + "-config" }
fn variable(name) { name.to_upper() }
"#;

/// Host functions that only convert their arguments and results.
#[export_module]
mod host {
    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_get(
        cx: NativeCallContext,
        _api_version: &str,
        _kind: &str,
        name: &str,
    ) -> Result<Dynamic, Box<EvalAltResult>> {
        let json = format!(r#"{{"metadata":{{"name":"{name}"}},"data":{{"hash":"0123abcd"}}}}"#);
        block_on(&cx, async {
            Ok(from_json(json.as_bytes()).unwrap_or_default())
        })
    }

    #[rhai_fn(volatile, return_raw)]
    pub(crate) fn k8s_apply(
        cx: NativeCallContext,
        object: Dynamic,
    ) -> Result<Dynamic, Box<EvalAltResult>> {
        let mut json = Vec::new();
        write_json(&object, &mut json).map_err(|error| error.to_string())?;
        block_on(&cx, async {
            let mut live = from_json(&json).unwrap_or_default();
            if let Ok(mut live) = live.as_map_mut() {
                live.insert("status".into(), rhai::Map::new().into());
            }
            Ok(live)
        })
    }
}

fn variables() -> Variables {
    let spec = json!({
        "size": 3, "image": "registry.example.org/shop",
        "ports": [{"name": "http", "number": 8080}, {"name": "metrics", "number": 9090}],
        "env": {"mode": "production", "region": "eu", "verbose": "false"},
        "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
    });
    let meta =
        json!({"name": "shop", "namespace": "default", "labels": {"team": "web"}, "generation": 4});
    let cr =
        json!({"apiVersion": "example.org/v1", "kind": "Shop", "metadata": meta, "spec": spec});
    Variables::from([
        ("cr", to_dynamic(&cr)),
        ("spec", to_dynamic(&cr["spec"])),
        ("meta", to_dynamic(&cr["metadata"])),
    ])
}

fn engine() -> Engine {
    Engine::new(
        vec![rhai::exported_module!(host).into()],
        &["cr", "spec", "meta"],
    )
}

fn sources() -> Sources {
    let mut sources = Sources::new("shop", "roles/shop");
    sources.insert("tasks/main.rhai", ROLE);
    sources.insert("tasks/names.rhai", NAMES);
    sources
}

fn compile(engine: &Engine) -> Program {
    engine
        .compile(&sources(), "tasks/main.rhai")
        .expect("the role is right")
}

#[divan::bench]
fn compile_a_role(bencher: Bencher) {
    let engine = engine();
    bencher.bench(|| compile(&engine));
}

/// A run with the two thread switches to a thread of the pool and back.
#[divan::bench]
fn run_a_role(bencher: Bencher) {
    let engine = engine();
    let program = Arc::new(compile(&engine));
    let runtime = Runtime::new().expect("a runtime");
    let pool = Pool::new(engine, 4, runtime.handle().clone());
    let variables = variables();
    bencher.bench_local(|| {
        let job = Job {
            program: program.clone(),
            native: None,
            variables: variables.clone(),
            state: Arc::new(()),
            limits: Limits::default(),
            cancel: CancellationToken::new(),
            deadline: clock::now() + Duration::from_mins(5),
        };
        runtime
            .block_on(pool.run(job))
            .expect("the role runs to its end")
    });
}

/// A Pod-like object of some 2 or 10 KB.
fn object(containers: usize) -> Value {
    let container = |n: usize| {
        json!({
            "name": format!("container-{n}"), "image": "registry.example.org/shop:1.2.3",
            "ports": [{"containerPort": 8080, "protocol": "TCP"}, {"containerPort": 9090}],
            "env": [{"name": "MODE", "value": "production"}, {"name": "REGION", "value": "eu-west-1"}],
            "resources": {"requests": {"cpu": "100m", "memory": "64Mi"}, "limits": {"memory": "128Mi"}},
            "readinessProbe": {"httpGet": {"path": "/healthz", "port": 8080}, "periodSeconds": 10},
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "shop", "namespace": "default", "labels": {"app": "shop"}},
        "spec": {"containers": (0..containers).map(container).collect::<Vec<_>>()},
    })
}

const SIZES: [usize; 2] = [5, 24];

#[divan::bench(args = SIZES)]
fn value_to_script(bencher: Bencher, containers: usize) {
    let value = object(containers);
    bencher.bench(|| to_dynamic(black_box(&value)));
}

#[divan::bench(args = SIZES)]
fn json_to_script(bencher: Bencher, containers: usize) {
    let text = object(containers).to_string();
    bencher.bench(|| from_json(black_box(text.as_bytes())));
}

#[divan::bench(args = SIZES)]
fn script_to_json(bencher: Bencher, containers: usize) {
    let value = to_dynamic(&object(containers));
    let mut json = Vec::new();
    bencher.bench_local(move || {
        json.clear();
        write_json(black_box(&value), &mut json)
    });
}

#[divan::bench(args = SIZES)]
fn script_to_value(bencher: Bencher, containers: usize) {
    let value = to_dynamic(&object(containers));
    bencher.bench(|| to_value(black_box(&value)));
}
