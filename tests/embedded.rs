//! What needs no cluster: the commands `dev` and `role run --against embedded`, from outside, and
//! pipelines on the embedded API.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

mod steps;

use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Node;
use kube::config::{AuthInfo, KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, IsCa, KeyPair,
};
use rhai_operator::clock;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::process::{Child, Command as AsyncCommand};

use rhai_operator::apiserver::{self, ApiServer, User};

const BINARY: &str = env!("CARGO_BIN_EXE_rhai-operator");
const SOON: Duration = Duration::from_mins(1);

/// A session in a folder of its own.
struct Session {
    folder: TempDir,
    child: Child,
}

impl Session {
    fn start(folder: TempDir, flags: &[&str]) -> Self {
        let child = AsyncCommand::new(BINARY)
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .arg("dev")
            .arg("--kubeconfig-out")
            .arg(folder.path().join("kubeconfig"))
            .args(["--log-level", "warn"])
            .args(flags)
            .stdout(Stdio::null())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        Self { folder, child }
    }

    async fn config(&self) -> Config {
        let file = self.folder.path().join("kubeconfig");
        let kubeconfig = soon(async || Kubeconfig::read_from(&file).ok()).await;
        let context = KubeConfigOptions::default();
        let config = Config::from_custom_kubeconfig(kubeconfig, &context).await;
        config.unwrap()
    }

    async fn client(&self) -> Client {
        Client::try_from(self.config().await).unwrap()
    }

    async fn deployment(&self) -> Deployment {
        let deployments: Api<Deployment> = Api::namespaced(self.client().await, "default");
        soon(async || deployments.get("memcached-sample").await.ok()).await
    }

    async fn stop(mut self) -> (ExitStatus, TempDir) {
        let id = self.child.id().unwrap().to_string();
        let signalled = Command::new("kill").args(["-TERM", &id]).status();
        assert!(signalled.unwrap().success());
        let ended = tokio::time::timeout(SOON, self.child.wait()).await;
        (ended.unwrap().unwrap(), self.folder)
    }
}

/// Asks until there is an answer.
async fn soon<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let asked = async {
        loop {
            if let Some(answer) = ask().await {
                return answer;
            }
            clock::sleep(Duration::from_millis(50)).await;
        }
    };
    tokio::time::timeout(SOON, asked).await.unwrap()
}

/// Runs a command to its end; exit code, stdout and stderr.
fn run(command: &[&str], arguments: &[&str]) -> (Option<i32>, String, String) {
    let output = Command::new(BINARY)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(command)
        .args(arguments)
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(output.stdout), text(output.stderr));
    (output.status.code(), stdout, stderr)
}

fn fails(arguments: &[&str]) -> String {
    let (code, _, stderr) = run(&["dev"], arguments);
    assert_eq!(code, Some(1), "{arguments:?}: {stderr}");
    stderr
}

fn path(folder: &Path, name: &str) -> String {
    let file: PathBuf = folder.join(name);
    file.to_str().unwrap().to_owned()
}

#[tokio::test]
async fn samples_get_their_children_and_a_state_outlives_its_session() {
    let folder = TempDir::new().unwrap();
    let state = path(folder.path(), "state.json");
    let session = Session::start(folder, &["--state", &state]);
    let made = session.deployment().await.metadata;
    assert_eq!(made.owner_references.unwrap()[0].kind, "Memcached");
    let (status, folder) = session.stop().await;
    assert_eq!(status.code(), Some(0));
    std::fs::remove_file(folder.path().join("kubeconfig")).unwrap();
    let session = Session::start(folder, &["--state", &state, "--api-only"]);
    assert_eq!(session.deployment().await.metadata.uid, made.uid);
    assert_eq!(session.stop().await.0.code(), Some(0));
}

/// An authority, and what a kubeconfig holds of a certificate by it: `alice` of `readers`.
fn alice() -> (String, AuthInfo) {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let authority = CertifiedIssuer::self_signed(params, key).unwrap();
    let mut params = CertificateParams::default();
    params.distinguished_name = DistinguishedName::new();
    let subject = &mut params.distinguished_name;
    subject.push(DnType::OrganizationName, "readers");
    subject.push(DnType::CommonName, "alice");
    let key = KeyPair::generate().unwrap();
    let certificate = params.signed_by(&key, &authority).unwrap();
    let encoded = |pem: String| STANDARD.encode(pem);
    let who = AuthInfo {
        client_certificate_data: Some(encoded(certificate.pem())),
        client_key_data: Some(encoded(key.serialize_pem()).into()),
        ..AuthInfo::default()
    };
    (authority.pem(), who)
}

#[tokio::test]
async fn users_come_by_certificate_and_requests_are_told() {
    let folder = TempDir::new().unwrap();
    let (authority, who) = alice();
    let (trusted, log) = (
        path(folder.path(), "ca.crt"),
        path(folder.path(), "audit.log"),
    );
    std::fs::write(&trusted, authority).unwrap();
    let flags = [
        "--api-only",
        "--client-ca-file",
        &trusted,
        "--audit-log-path",
        &log,
    ];
    let session = Session::start(folder, &flags);
    let mut config = session.config().await;
    config.auth_info = who;
    let nodes: Api<Node> = Api::all(Client::try_from(config).unwrap());
    let refused = nodes.get("node-0").await.unwrap_err().to_string();
    assert!(refused.contains("User \"alice\" cannot get"), "{refused}");
    let told = std::fs::read_to_string(&log).unwrap();
    let lines = told
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let line = lines.last().unwrap();
    assert_eq!(line["user"]["username"], "alice");
    let groups = json!(["readers", "system:authenticated"]);
    assert_eq!(line["user"]["groups"], groups);
    assert_eq!(line["requestURI"], "/api/v1/nodes/node-0");
    assert_eq!(line["responseStatus"]["code"], 403);
    let about = json!({"resource": "nodes", "name": "node-0", "apiVersion": "v1"});
    assert_eq!(line["objectRef"], about);
    assert_eq!(session.stop().await.0.code(), Some(0));
}

const MEMCACHED: &str = "deploy/samples/cache_v1alpha1_memcached.yaml";

fn role_run(arguments: &[&str]) -> (Option<i32>, String, String) {
    let command = [
        "role",
        "run",
        "memcached",
        "--against",
        "embedded",
        "--log-level",
        "warn",
    ];
    run(&command, arguments)
}

#[test]
fn a_role_is_run_once_without_a_cluster() {
    let (code, stdout, stderr) = role_run(&["--cr", MEMCACHED, "--set", "spec.size=5"]);
    // The simulation made the Pods ready before the role asked.
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(stdout.contains("created"), "{stdout}");
    assert!(!stderr.contains("gets no owner"), "{stderr}");
    let (code, stdout, _) = role_run(&["--cr", MEMCACHED, "--plan"]);
    assert_eq!(code, Some(4), "{stdout}");
}

#[test]
fn objects_are_given_to_a_run() {
    let folder = TempDir::new().unwrap();
    let input = path(folder.path(), "objects.yaml");
    let objects = "
apiVersion: apps/v1
kind: Deployment
metadata: {name: memcached-sample}
spec:
  selector: {matchLabels: {app: x}}
  template: {metadata: {labels: {app: x}}, spec: {containers: [{name: c, image: x}]}}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: elsewhere, namespace: made-for-it}
";
    std::fs::write(&input, objects).unwrap();
    let (code, stdout, stderr) = role_run(&["--cr", MEMCACHED, "--input", &input]);
    // The selector of what is there cannot be changed.
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(stdout.contains("immutable"), "{stdout}");
}

#[test]
fn wrong_flags_of_a_run_are_named() {
    let (code, _, stderr) = role_run(&["--cr", "absent.yaml"]);
    assert_eq!(code, Some(1), "{stderr}");
    let (code, _, stderr) = role_run(&["--cr", MEMCACHED, "--input", "absent.yaml"]);
    assert_eq!(code, Some(1));
    assert!(stderr.contains("cannot read absent.yaml"), "{stderr}");
    let command = [
        "role",
        "run",
        "memcached",
        "--cr",
        MEMCACHED,
        "--input",
        "x.yaml",
    ];
    let (code, _, stderr) = run(&command, &[]);
    assert_eq!(code, Some(2));
    assert!(stderr.contains("--against embedded"), "{stderr}");
}

#[test]
fn a_kind_without_a_crd_says_where_that_would_be_looked_for() {
    let folder = TempDir::new().unwrap();
    let deploy = folder.path().display().to_string();
    let (code, _, stderr) = role_run(&["--cr", MEMCACHED, "--deploy-dir", &deploy]);
    assert_eq!(code, Some(1), "{stderr}");
    let hint = format!("hint: put its CRD into {deploy}/crds, or name the file with --input");
    assert!(stderr.contains(&hint), "{stderr}");
}

#[test]
fn what_is_wrong_is_named() {
    let folder = TempDir::new().unwrap();
    let kubeconfig = path(folder.path(), "kubeconfig");
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let error = fails(&["--api-only", "--address", &address]);
    assert!(
        error.contains(&format!("cannot listen on {address}")),
        "{error}"
    );

    let state = path(folder.path(), "state.json");
    std::fs::write(&state, "{}").unwrap();
    let error = fails(&["--state", &state]);
    assert!(error.contains("is no state"), "{error}");

    let error = fails(&[
        "--kubeconfig-out",
        &path(folder.path(), "absent/kubeconfig"),
    ]);
    assert!(error.contains("cannot write the kubeconfig"), "{error}");

    std::fs::write(&state, "").unwrap();
    let error = fails(&["--client-ca-file", &state]);
    assert!(error.contains("cannot use the authorities"), "{error}");
    assert!(error.contains("no certificate in PEM"), "{error}");
    let absent = path(folder.path(), "absent/audit.log");
    let error = fails(&["--audit-log-path", &absent]);
    assert!(
        error.contains(&format!("cannot write to {absent}")),
        "{error}"
    );

    let crds = folder.path().join("deploy/crds");
    std::fs::create_dir_all(&crds).unwrap();
    std::fs::write(crds.join("web.yaml"), "kind: Web\n").unwrap();
    let deploy = path(folder.path(), "deploy");
    let error = fails(&["--deploy-dir", &deploy, "--kubeconfig-out", &kubeconfig]);
    assert!(error.contains("web.yaml"), "{error}");
    assert!(error.contains("apiVersion"), "{error}");
}

/// A server with nothing in it for each test of pipelines.
fn ground() -> steps::stage::Ground {
    let server = ApiServer::new(apiserver::Options::default());
    steps::stage::Ground {
        client: Client::new(server.client(User::admin()), "default"),
        namespace: "default".into(),
        group: "pipelines.example.com".into(),
    }
}

macro_rules! on_the_embedded_api {
    ($($test:ident),* $(,)?) => {
        $(#[tokio::test]
        async fn $test() {
            steps::$test(ground()).await;
        })*
    };
}
steps::steps!(on_the_embedded_api);
