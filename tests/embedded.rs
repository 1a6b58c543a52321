//! The commands `dev` and `role run --against embedded`.

#![allow(
    clippy::unwrap_used,
    clippy::panic,
    reason = "a test that panics is a test that fails"
)]

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

const BINARY: &str = env!("CARGO_BIN_EXE_rhai-operator");
const SOON: Duration = Duration::from_mins(3);

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
        let context = KubeConfigOptions::default();
        let kubeconfig = soon(async || Kubeconfig::read_from(&file).ok()).await;
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
async fn a_changed_sample_is_applied() {
    let folder = TempDir::new().unwrap();
    let deploy = folder.path().join("deploy");
    for part in ["crds", "samples"] {
        let to = deploy.join(part);
        std::fs::create_dir_all(&to).unwrap();
        let from = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("deploy")
            .join(part);
        for file in std::fs::read_dir(from).unwrap() {
            let file = file.unwrap();
            std::fs::copy(file.path(), to.join(file.file_name())).unwrap();
        }
    }
    let session = Session::start(folder, &["--deploy-dir", deploy.to_str().unwrap()]);
    session.deployment().await;
    let sample = deploy.join("samples/cache_v1alpha1_memcached.yaml");
    let text = std::fs::read_to_string(&sample).unwrap();
    std::fs::write(&sample, text.replace("size: 3", "size: 4")).unwrap();
    let larger = async || {
        let spec = session.deployment().await.spec.unwrap();
        (spec.replicas == Some(4)).then_some(())
    };
    soon(larger).await;
    assert_eq!(session.stop().await.0.code(), Some(0));
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

/// Returns a CA certificate, and the kubeconfig entry of a client certificate that it signed: `alice` of the
/// group `readers`.
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
async fn certificates_authenticate_users_and_requests_are_logged() {
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
    let line: Value = serde_json::from_str(told.lines().next_back().unwrap()).unwrap();
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
    // It has the name of the child, and no owner.
    assert_eq!(code, Some(1), "{stdout}{stderr}");
    assert!(stdout.contains("does not own it"), "{stdout}");
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
fn a_kind_without_a_crd_names_the_searched_folder() {
    let folder = TempDir::new().unwrap();
    let deploy = folder.path().display().to_string();
    let (code, _, stderr) = role_run(&["--cr", MEMCACHED, "--deploy-dir", &deploy]);
    assert_eq!(code, Some(1), "{stderr}");
    let hint = format!("hint: put its CRD into {deploy}/crds, or name the file with --input");
    assert!(stderr.contains(&hint), "{stderr}");
}

#[test]
fn invalid_arguments_are_named() {
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
    assert!(
        error.contains("expected a file that `dev --state` saved"),
        "{error}"
    );
    let error = fails(&["--state", &path(folder.path(), "absent/state.json")]);
    assert!(error.contains("cannot save the state"), "{error}");
    let error = fails(&["--deploy-dir", "absent"]);
    assert!(error.contains("cannot find the folder absent"), "{error}");
    let error = fails(&["--watches-file", "absent.yaml"]);
    assert!(
        error.contains("absent.yaml does not exist\n  hint: "),
        "{error}"
    );
    assert_eq!(run(&["dev"], &["--admin-token", ""]).0, Some(2));

    let error = fails(&[
        "--kubeconfig-out",
        &path(folder.path(), "absent/kubeconfig"),
    ]);
    assert!(error.contains("cannot write the kubeconfig"), "{error}");

    std::fs::write(&state, "").unwrap();
    let error = fails(&["--client-ca-file", &state]);
    assert!(error.contains("cannot use the CA certificates"), "{error}");
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

const STEPS: &str = r#"
- name: config
  tags: [base]
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: config}, data: {size: "${spec.size}"}}
- name: group
  block:
  - name: inner
    apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: inner}}
  - name: said
    script: log_info("hello from a step")
- name: gate
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: gate}}
  ready: $.data.open
- name: late
  apply: {apiVersion: v1, kind: ConfigMap, metadata: {name: late}}
"#;

/// Runs a role of these steps once; exit code, stdout and stderr.
fn run_steps(arguments: &[&str]) -> (Option<i32>, String, String) {
    let folder = TempDir::new().unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::create_dir_all(file.parent().unwrap()).unwrap();
        std::fs::write(file, text).unwrap();
    };
    write(
        "watches.yaml",
        "- {group: example.com, version: v1, kind: Web, role: web}\n",
    );
    write("roles/web/tasks/main.yaml", STEPS);
    write("roles/other/tasks/main.rhai", "print(1);");
    let cr = "{apiVersion: example.com/v1, kind: Web, metadata: {name: w}, spec: {size: 3}}";
    write("cr.yaml", cr);
    let open = "{type: object, x-kubernetes-preserve-unknown-fields: true}";
    write(
        "deploy/crds/web.yaml",
        &format!(
            "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {{name: webs.example.com}}
spec:
  group: example.com
  scope: Namespaced
  names: {{kind: Web, plural: webs, singular: web}}
  versions:
  - name: v1
    served: true
    storage: true
    subresources: {{status: {{}}}}
    schema: {{openAPIV3Schema: {open}}}
"
        ),
    );
    let output = Command::new(BINARY)
        .current_dir(folder.path())
        .args(["role", "run", "--cr", "cr.yaml", "--against", "embedded"])
        .args(arguments)
        .env("RHAI_OPERATOR_LOG_LEVEL", "error")
        .output()
        .unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    (
        output.status.code(),
        text(output.stdout),
        text(output.stderr),
    )
}

#[test]
fn a_run_shows_the_graph_of_its_steps() {
    let (code, stdout, stderr) = run_steps(&["web"]);
    assert_eq!(code, Some(3), "{stdout}{stderr}");
    let line = |name: &str| {
        let found = stdout.lines().find(|line| line.contains(name));
        found.unwrap_or_else(|| panic!("no {name} in {stdout}"))
    };
    for (name, parts) in [
        (" 1 config (apply)", ["done", "1 call"]),
        ("     1 inner (apply)", ["done", "1 call"]),
        (" 3 gate (apply)", ["waiting", "is not true yet"]),
        (" 4 late (apply)", ["blocked", "← gate"]),
    ] {
        for part in parts {
            assert!(line(name).contains(part), "{}", line(name));
        }
    }
    let (_, stdout, _) = run_steps(&["web", "-o", "json"]);
    let report: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    let steps = &report["steps"];
    assert_eq!(steps[0]["place"], "web/tasks/main.yaml:2:3");
    assert_eq!(steps[1]["steps"][0]["state"], "done");
    assert_eq!(steps[3]["needs"], serde_json::json!(["gate"]));
    assert_eq!(report["changes"][1]["step"], "group/inner");
}

#[test]
fn a_log_line_names_the_step() {
    let (_, _, stderr) = run_steps(&["web", "--log-level", "info", "--log-format", "json"]);
    let line = stderr
        .lines()
        .find(|line| line.contains("hello from a step"));
    let line: serde_json::Value = serde_json::from_str(line.unwrap()).unwrap();
    let spans = line["spans"].as_array().unwrap();
    let paths: Vec<_> = spans.iter().map(|span| span["path"].as_str()).collect();
    assert!(
        paths.ends_with(&[Some("group"), Some("group/said")]),
        "{line}"
    );
    assert!(spans[0]["role"] == "web", "{line}");
}

#[test]
fn a_plan_is_grouped_by_steps() {
    let (code, stdout, stderr) = run_steps(&["web", "--plan"]);
    assert_eq!(code, Some(4), "{stdout}{stderr}");
    let place = |text: &str| {
        stdout
            .find(text)
            .unwrap_or_else(|| panic!("{text}: {stdout}"))
    };
    let order = [
        "─── step config",
        "ConfigMap default/config would be created",
        "─── step group/inner",
        "ConfigMap default/inner would be created",
        "─── step gate",
    ]
    .map(place);
    assert!(order.is_sorted(), "{stdout}");
}

#[test]
fn some_of_the_steps_are_run_alone() {
    let (code, stdout, stderr) = run_steps(&["web", "--tags", "base"]);
    assert_eq!(code, Some(0), "{stdout}{stderr}");
    assert!(!stdout.contains("ConfigMap default/gate"), "{stdout}");
    let (code, stdout, _) = run_steps(&["web", "--start-at", "late"]);
    assert_eq!(code, Some(0), "{stdout}");
    assert!(
        stdout.contains("ConfigMap default/late created"),
        "{stdout}"
    );
    for (arguments, error) in [
        (
            ["web", "--start-at", "lat"],
            "has no step lat: did you mean late?",
        ),
        (
            ["web", "--tags", "bse"],
            "has no tag bse: did you mean base?",
        ),
        (["other", "--tags", "base"], "is a script: it has no steps"),
    ] {
        let (code, _, stderr) = run_steps(&arguments);
        assert_eq!(code, Some(1), "{stderr}");
        assert!(stderr.contains(error), "{stderr}");
    }
}

/// Creates a named pipe whose other end stays closed.
fn pipe(folder: &Path, name: &str) -> String {
    let file = path(folder, name);
    let made = Command::new("mkfifo").arg(&file).status();
    assert!(made.unwrap().success());
    file
}

/// Runs a command that must fail, and must not wait for data from a pipe.
async fn refused(arguments: &[&str]) -> String {
    let child = AsyncCommand::new(BINARY)
        .current_dir(env!("CARGO_MANIFEST_DIR"))
        .args(arguments)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .unwrap();
    let ended = tokio::time::timeout(SOON, child.wait_with_output()).await;
    let output = ended.unwrap_or_else(|_| panic!("{arguments:?} waits"));
    let output = output.unwrap();
    assert_eq!(output.status.code(), Some(1), "{arguments:?}");
    let text = [output.stdout, output.stderr].concat();
    String::from_utf8(text).unwrap()
}

#[tokio::test]
async fn a_named_pipe_in_place_of_a_file_is_refused() {
    let folder = TempDir::new().unwrap();
    let file = pipe(folder.path(), "pipe.yaml");
    let (crds, role) = (folder.path().join("crds"), folder.path().join("roles/web"));
    for folder in [&crds, &role.join("tasks")] {
        std::fs::create_dir_all(folder).unwrap();
    }
    pipe(&crds, "crd.yaml");
    pipe(&role.join("tasks"), "main.rhai");
    let project = path(folder.path(), "watches.yaml");
    let watches = "- {group: example.com, version: v1, kind: Web, role: web}\n";
    std::fs::write(&project, watches).unwrap();
    let (roles, deploy) = (path(folder.path(), "roles"), path(folder.path(), ""));
    let embedded = ["role", "run", "memcached", "--against", "embedded", "--cr"];
    for arguments in [
        &["dev", "--api-only", "--state", &file][..],
        &["dev", "--api-only", "--kubeconfig-out", &file],
        &["dev", "--api-only", "--audit-log-path", &file],
        &["dev", "--api-only", "--client-ca-file", &file],
        &["dev", "--watches-file", &file],
        &["dev", "--deploy-dir", &deploy],
        &["check", "--watches-file", &file],
        &["check", "--watches-file", &project, "--roles-dir", &roles],
        &["check", "--deploy-dir", &deploy],
        &["run", "--kubeconfig", &file],
        &[&embedded[..], &[&file]].concat(),
        &[&embedded[..], &[MEMCACHED, "--input", &file]].concat(),
        &[&embedded[..], &[MEMCACHED, "--deploy-dir", &deploy]].concat(),
    ] {
        let error = refused(arguments).await;
        assert!(
            error.contains("expected a regular file, found a named pipe"),
            "{arguments:?}: {error}"
        );
        let names = ["pipe.yaml", "crd.yaml", "main.rhai"];
        assert!(names.iter().any(|name| error.contains(name)), "{error}");
    }
}

#[tokio::test]
async fn a_state_is_of_one_session_at_a_time() {
    let folder = TempDir::new().unwrap();
    let state = path(folder.path(), "state.json");
    let session = Session::start(folder, &["--state", &state, "--api-only"]);
    // The kubeconfig is written after the state is locked.
    session.config().await;
    let error = refused(&["dev", "--api-only", "--state", &state]).await;
    assert!(error.contains("another process uses it"), "{error}");
    let (status, folder) = session.stop().await;
    assert!(status.success());
    // The next session's is waited for.
    std::fs::remove_file(folder.path().join("kubeconfig")).unwrap();
    let session = Session::start(folder, &["--state", &state, "--api-only"]);
    session.config().await;
    assert!(session.stop().await.0.success());
}
