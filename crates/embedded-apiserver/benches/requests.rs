//! The speed and the memory of the embedded API: requests per second in process and over HTTP, the time to
//! its first answer, the memory of 100,000 objects; compared with a real server if there is one.
//!
//! Command: `cargo bench --bench requests`. With `BENCH_KUBECONFIG=$(tests/kubernetes/up)` the benchmark
//! sends the requests to that cluster too.

#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    reason = "a benchmark that panics is a benchmark that fails; what it measures is printed"
)]

use std::fmt;
use std::path::Path;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::UNIX_EPOCH;

use divan::Bencher;
use divan::counter::ItemsCount;
use embedded_apiserver::{ApiServer, Options, User};
use futures::StreamExt;
use http::{Method, Request};
use kube::config::{KubeConfigOptions, Kubeconfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::runtime::Runtime;

/// The allocator of the operator, so that figures compare.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Requests of one round, and how many of them are under way at once.
const ROUND: usize = 200;
const AT_ONCE: usize = 8;
/// The number of objects for the measurement of memory.
const MANY: usize = 100_000;

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| Runtime::new().unwrap());
/// The next number of a name. Names are unique, also among several runs on one cluster.
static NAMES: AtomicUsize = AtomicUsize::new(0);
static STARTED: LazyLock<u128> = LazyLock::new(|| UNIX_EPOCH.elapsed().unwrap().as_millis());

fn main() {
    // Memory is measured first, before other benchmarks have freed memory that could be reused.
    memory();
    divan::main();
}

/// The server that receives the requests.
#[derive(Clone, Copy)]
enum Server {
    InProcess,
    Http,
    Https,
    Real,
}

impl fmt::Display for Server {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::InProcess => "in process",
            Self::Http => "http",
            Self::Https => "https",
            Self::Real => "real server",
        })
    }
}

fn servers() -> Vec<Server> {
    let mut servers = vec![Server::InProcess, Server::Http, Server::Https];
    servers.extend(std::env::var_os("BENCH_KUBECONFIG").map(|_| Server::Real));
    servers
}

impl Server {
    async fn client(self) -> kube::Client {
        if let Self::Real = self {
            let path = std::env::var_os("BENCH_KUBECONFIG").unwrap();
            let kubeconfig = Kubeconfig::read_from(Path::new(&path)).unwrap();
            let options = KubeConfigOptions::default();
            let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await;
            return kube::Client::try_from(config.unwrap()).unwrap();
        }
        let server = ApiServer::new(Options::default());
        if let Self::InProcess = self {
            return server.client();
        }
        server.add_token("t", User::admin());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let scheme = if let Self::Https = self {
            Box::leak(Box::new(server.serve_tls(listener, None).unwrap()));
            "https"
        } else {
            Box::leak(Box::new(server.serve(listener).unwrap()));
            "http"
        };
        let mut config = kube::Config::new(format!("{scheme}://{address}").parse().unwrap());
        config.accept_invalid_certs = true;
        config.auth_info.token = Some("t".to_owned().into());
        kube::Client::try_from(config).unwrap()
    }
}

/// Sends a round of requests per iteration.
fn rounds(bencher: Bencher<'_, '_>, server: Server, request: fn(usize) -> (Method, String, Value)) {
    let client = RUNTIME.block_on(server.client());
    RUNTIME.block_on(send(&client, put("known", 0)));
    bencher.counter(ItemsCount::new(ROUND)).bench_local(|| {
        RUNTIME.block_on(async {
            let sent = (0..ROUND).map(|_| {
                let client = client.clone();
                let request = request(NAMES.fetch_add(1, Ordering::SeqCst));
                tokio::spawn(async move { send(&client, request).await })
            });
            let mut sent = futures::stream::iter(sent).buffer_unordered(AT_ONCE);
            while let Some(sent) = sent.next().await {
                sent.unwrap();
            }
        });
    });
}

async fn send(client: &kube::Client, (method, uri, body): (Method, String, Value)) {
    let content_type = if method == Method::PATCH {
        "application/apply-patch+yaml"
    } else {
        "application/json"
    };
    let body = if body.is_null() {
        Vec::new()
    } else {
        body.to_string().into_bytes()
    };
    let request = Request::builder()
        .method(method)
        .uri(uri)
        .header("content-type", content_type)
        .body(body)
        .unwrap();
    client.request::<Value>(request).await.unwrap();
}

const COLLECTION: &str = "/apis/apps/v1/namespaces/default/deployments";

fn put(name: &str, revision: usize) -> (Method, String, Value) {
    let uri = format!("{COLLECTION}/{name}?fieldManager=bench&force=true");
    (Method::PATCH, uri, deployment(name, revision))
}

/// No Pods, so that the work of controllers is not measured.
fn deployment(name: &str, revision: usize) -> Value {
    let labels = json!({"app": name});
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment",
        "metadata": {"name": name, "labels": labels},
        "spec": {
            "replicas": 0, "paused": true,
            "selector": {"matchLabels": labels},
            "template": {
                "metadata": {"labels": labels, "annotations": {"revision": revision.to_string()}},
                "spec": {"containers": [{
                    "name": "main", "image": "registry.example.com/web:1.2.3",
                    "ports": [{"containerPort": 8080}],
                }]},
            },
        },
    })
}

#[divan::bench(args = servers(), sample_count = 20)]
fn get(bencher: Bencher<'_, '_>, server: Server) {
    rounds(bencher, server, |_| {
        (Method::GET, format!("{COLLECTION}/known"), Value::Null)
    });
}

#[divan::bench(args = servers(), sample_count = 20)]
fn create(bencher: Bencher<'_, '_>, server: Server) {
    rounds(bencher, server, |number| {
        let body = deployment(&format!("created-{}-{number}", *STARTED), 0);
        (Method::POST, COLLECTION.to_owned(), body)
    });
}

#[divan::bench(args = servers(), sample_count = 20)]
fn apply_without_change(bencher: Bencher<'_, '_>, server: Server) {
    rounds(bencher, server, |_| put("known", 0));
}

#[divan::bench(args = servers(), sample_count = 20)]
fn apply_with_change(bencher: Bencher<'_, '_>, server: Server) {
    rounds(bencher, server, |number| put("known", number + 1));
}

/// Measures the time from the start of a server to its first response over a socket. With TLS, this includes
/// the creation of keys and certificates.
#[divan::bench(args = [Server::Http, Server::Https], sample_count = 20)]
fn start(server: Server) {
    RUNTIME.block_on(async {
        let client = server.client().await;
        let request = Request::get("/readyz").body(Vec::new()).unwrap();
        assert_eq!(client.request_text(request).await.unwrap(), "ok");
    });
}

/// Prints the additional memory of the process with many small objects.
fn memory() {
    // A client has a task.
    let _runtime = RUNTIME.enter();
    let server = ApiServer::new(Options::default());
    let client = server.client();
    let create = async |number: usize| {
        let body = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": format!("c-{number}")}, "data": {"key": "value"},
        });
        let uri = "/api/v1/namespaces/default/configmaps".to_owned();
        send(&client, (Method::POST, uri, body)).await;
    };
    // The memory of an empty server is not memory of the objects.
    RUNTIME.block_on(create(MANY));
    let before = resident();
    RUNTIME.block_on(async {
        for number in 0..MANY {
            create(number).await;
        }
    });
    let taken = resident() - before;
    println!(
        "{MANY} ConfigMaps: {} MB, {} bytes each",
        taken >> 20,
        taken / MANY
    );
}

/// Resident memory of this process, in bytes (proc(5), `statm`; pages of 4 KiB).
fn resident() -> usize {
    let pages = std::fs::read_to_string("/proc/self/statm").unwrap();
    let resident: usize = pages.split(' ').nth(1).unwrap().parse().unwrap();
    resident * 4096
}
