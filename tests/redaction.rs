//! A property test of redaction: for each use of a Secret by a role, and for each response of the server,
//! no text that leaves the run contains a value of the Secret, a line of it, or its base64, JSON or YAML form.

#![expect(
    clippy::unwrap_used,
    reason = "a test that panics is a test that fails"
)]

use std::fmt::Write as _;
use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE_NO_PAD};
use bytes::Bytes;
use embedded_apiserver::{self as apiserver, ApiServer};
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use parking_lot::Mutex;
use proptest::prelude::*;
use proptest::sample::subsequence;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use rhai_operator::clock::Clock;
use rhai_operator::cluster::{Cluster, Settings, transport};
use rhai_operator::host;
use rhai_operator::model::{Gvk, Object, yaml};
use rhai_operator::reconcile::{Context, Input, Mode, reconcile};
use rhai_operator::role::Project;
use rhai_operator::script::Pool;
use rhai_operator::watches::Environment;
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::runtime::Runtime;
use tracing_subscriber::filter::LevelFilter;
use tracing_subscriber::layer::SubscriberExt as _;

const GROUP: &str = "redaction.example.com";

/// Statements of roles. `plain` is the value, `object` the Secret that contains it.
const STATEMENTS: [&str; 40] = [
    "log_info(plain)",
    "log_warn(`it is '${plain}', no \"${plain}\"`)",
    "print(object)",
    "log_info(\"seen\", #{value: plain, list: [#{object: object}]})",
    "log_error(to_yaml(object))",
    "log_debug(to_json(object))",
    "log_info(to_yaml(#{deep: #{list: [#{value: plain}]}}))",
    "log_info(to_json(#{a: to_json(#{b: plain})}))",
    "log_info(base64_encode(plain))",
    "log_info(\"\\\\\" + plain)",
    "log_info(\"\\u001b[31m\" + to_json(plain) + \"\\u202e\")",
    "event(\"Normal\", \"Told\", plain)",
    "event(\"Warning\", \"Told\", to_yaml(#{a: plain}))",
    "set_status(#{plain: plain, list: [#{json: to_json(#{a: plain})}], yaml: to_yaml([plain])})",
    "set_status(#{number: parse_int(plain)})",
    "set_status(#{encoded: object.data, raw: object})",
    "set_condition(\"Told\", true, \"Told\", \"it is \" + plain)",
    "set_condition(\"Noted\", false, \"Noted\", to_json(object.data))",
    "from_yaml(plain)",
    "from_yaml(\"a: b\\n\" + plain + \"\\n  : [\")",
    "from_json(\"{\" + plain)",
    "k8s_apply(\"kind: [\\n\" + plain)",
    "k8s_apply(#{apiVersion: \"v1\", kind: \"Secret\", metadata: #{name: \"copy\"}, stringData: #{a: plain}})",
    "k8s_apply(#{apiVersion: \"v1\", kind: \"Secret\", metadata: #{name: \"Bad Name\"}, stringData: #{a: plain}})",
    "k8s_apply(#{apiVersion: \"v1\", kind: \"Secret\", metadata: #{name: \"bad\"}, data: #{a: plain}})",
    "k8s_apply(#{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: #{name: \"map\", annotations: #{a: to_json(object)}}, data: #{a: plain, b: to_yaml(object)}})",
    "k8s_create(#{apiVersion: \"v1\", kind: \"Secret\", metadata: #{generateName: \"x-\"}, stringData: #{a: plain}})",
    "k8s_create(#{apiVersion: \"v1\", kind: \"ConfigMap\", metadata: #{name: \"bad name\"}, data: #{a: [plain]}})",
    "k8s_patch(object, #{data: #{a: plain}})",
    "k8s_patch(object, #{stringData: #{b: plain + \"-and-more\"}})",
    "k8s_patch(object, [#{op: \"replace\", path: \"/data/a\", value: plain}], \"json\")",
    "k8s_patch(object, #{metadata: #{annotations: #{a: plain}}}, \"strategic\")",
    "k8s_get(\"v1\", \"ConfigMap\", plain)",
    "k8s_list(\"v1\", \"Secret\", #{labels: plain})",
    "log_info(template(\"t.txt\", #{value: plain}))",
    "template_objects(\"t.yaml\", #{value: plain})",
    "jsonpath(object, plain)",
    "duration(plain)",
    "wait_ready(#{apiVersion: \"v1\", kind: \"ConfigMap\", name: plain})",
    "ensure_secret(\"made\", || #{a: plain})",
];

/// The last statements of a run.
const ENDS: [&str; 4] = [
    "()",
    "throw plain",
    "fail(`no: ${plain}`)",
    "fail(to_yaml(object))",
];

/// A value of a Secret.
fn value() -> impl Strategy<Value = String> {
    let line = || "[A-Za-z0-9]{6}[ -~é😀\\t\u{1b}\u{202e}]{2,120}";
    prop_oneof![
        line().prop_map(|line| line.trim().to_owned()),
        prop::collection::vec(line(), 1..6).prop_map(|lines| lines.join("\n")),
        prop::collection::vec(line(), 1..4).prop_map(|lines| lines.join("\r\n  ") + "\n"),
        "[1-9][0-9]{6,14}",
        "[A-Za-z0-9]{8}",
        ("[A-Za-z0-9]{8}", "[a-z ]{90,200}").prop_map(|(a, b)| a + &b + "."),
    ]
}

fn script(statements: &[&str], end: &str) -> String {
    let mut script = String::from(
        "let object = k8s_get(\"v1\", \"Secret\", \"s\");\nlet plain = base64_decode(object.data.a);\n",
    );
    for statement in statements {
        let told = "log_warn(e.message); event(\"Warning\", \"Caught\", e.message); \
                    set_status(#{error: e.message});";
        writeln!(script, "try {{ {statement}; }} catch (e) {{ {told} }}").unwrap();
    }
    script + end + ";\n"
}

/// Returns the forms of a value that must not appear.
fn forms(value: &str) -> Vec<String> {
    let trimmed = value.trim();
    let mut forms = vec![trimmed.to_owned()];
    forms.extend(trimmed.lines().map(|line| line.trim().to_owned()));
    for value in [value, trimmed] {
        forms.push(STANDARD_NO_PAD.encode(value));
        forms.push(URL_SAFE_NO_PAD.encode(value));
    }
    for plain in forms.clone() {
        let json = Value::from(&*plain).to_string();
        forms.push(json.trim_matches('"').to_owned());
        let twice = Value::from(&*json).to_string();
        forms.push(twice.trim_matches(['"', '\\']).to_owned());
        forms.push(yaml::write(&Value::from(&*plain)).trim().to_owned());
        forms.push(format!("{plain:?}").trim_matches('"').to_owned());
    }
    forms.retain(|form| form.chars().count() >= 6);
    forms
}

/// Returns whether a text contains a form; one of fewer than twelve characters as a whole word.
fn contains(text: &str, form: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let is_long = form.chars().count() >= 12;
    text.match_indices(form).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + form.len()..].chars().next();
        is_long || !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// The log of the whole process, which has one.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl io::Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Returns a client of a server that refuses some writes and quotes the request in its error.
fn hostile(server: &ApiServer, refusals: u64) -> Client {
    let client = server.client();
    let writes = Arc::new(AtomicU64::new(0));
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (client, writes) = (client.clone(), Arc::clone(&writes));
        async move {
            let is_write = matches!(request.method().as_str(), "POST" | "PUT" | "PATCH");
            let is_event = request.uri().path().contains("events");
            let number = if is_write && !is_event {
                writes.fetch_add(1, Ordering::SeqCst)
            } else {
                63
            };
            if refusals >> (number % 64) & 1 == 0 {
                return client.send(request).await;
            }
            let body = request.into_body().collect().await.unwrap().to_bytes();
            Ok(refusal(&body))
        }
    });
    Client::new(service, "default")
}

fn refusal(body: &Bytes) -> http::Response<Body> {
    let sent = String::from_utf8_lossy(body);
    let status = json!({
        "apiVersion": "v1", "kind": "Status", "status": "Failure", "code": 422, "reason": "Invalid",
        "message": format!("cannot decode {sent} nor {sent:?}"),
        "details": {"causes": [{"field": "data", "message": format!("Invalid value: {sent:?}")}]},
    });
    http::Response::builder()
        .status(422)
        .header("content-type", "application/json")
        .body(Body::from(status.to_string().into_bytes()))
        .unwrap()
}

async fn create(client: &Client, path: &str, object: &Value) {
    let request = http::Request::post(path).body(object.to_string().into_bytes());
    client.request::<Value>(request.unwrap()).await.unwrap();
}

/// A server with a custom resource and the Secret of a value, of which it has a copy as kubectl makes one.
async fn server(value: &str) -> ApiServer {
    let server = ApiServer::new(apiserver::Options::default());
    let client = server.client();
    let open = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("webs.{GROUP}")},
        "spec": {
            "group": GROUP, "scope": "Namespaced",
            "names": {"kind": "Web", "plural": "webs", "singular": "web"},
            "versions": [{
                "name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": open, "status": open},
                }},
            }],
        },
    });
    create(
        &client,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        &crd,
    )
    .await;
    let mut secret = json!({
        "apiVersion": "v1", "kind": "Secret", "metadata": {"name": "s"},
        "data": {"a": STANDARD.encode(value)},
    });
    let copy = secret.to_string();
    secret["metadata"]["annotations"] =
        json!({"kubectl.kubernetes.io/last-applied-configuration": copy});
    create(&client, "/api/v1/namespaces/default/secrets", &secret).await;
    let web = json!({
        "apiVersion": format!("{GROUP}/v1"), "kind": "Web", "metadata": {"name": "w"}, "spec": {},
    });
    let webs = format!("/apis/{GROUP}/v1/namespaces/default/webs");
    create(&client, &webs, &web).await;
    server
}

fn project(script: &str) -> (TempDir, Project) {
    let folder = tempfile::tempdir().unwrap();
    let watches = folder.path().join("watches.yaml");
    let text = format!("[{{group: {GROUP}, version: v1, kind: Web, role: web}}]");
    std::fs::write(&watches, text).unwrap();
    for (file, text) in [
        ("tasks/main.rhai", script),
        ("templates/t.txt", "a: {{ value }}\n"),
        ("templates/t.yaml", "kind: {{ value | safe }}\n x: [\n"),
    ] {
        let path = folder.path().join("roles/web").join(file);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let roles = folder.path().join("roles");
    let project = Project::load(
        &watches,
        &roles,
        &Environment::default(),
        &host::toolchain(),
    );
    (
        folder,
        project.map_err(|problems| format!("{problems:?}")).unwrap(),
    )
}

/// Everything that leaves a run: the report, the status, the Events.
async fn outputs(
    value: &str,
    script: &str,
    refusals: u64,
    mode: Mode,
) -> Vec<(&'static str, String)> {
    let server = server(value).await;
    let client = hostile(&server, refusals);
    let (_folder, project) = project(script);
    let cluster = Cluster::new(transport::from_client(client), Settings::default());
    let handle = tokio::runtime::Handle::current();
    let pool = Arc::new(Pool::new(host::toolchain().engine, 1, handle));
    let context = Context::new(cluster, pool, Clock::default());
    let client = server.client();
    let path = format!("/apis/{GROUP}/v1/namespaces/default/webs/w");
    let get = |path: &str| http::Request::get(path).body(Vec::new()).unwrap();
    let web: Value = client.request(get(&path)).await.unwrap();
    let cr = Object::from_value(&Gvk::new(GROUP, "v1", "Web"), &web).unwrap();
    let input = Input {
        mode,
        ..Input::new(Arc::new(cr), &project.watches[0], &project.roles)
    };
    let report = reconcile(&context, input).await;
    context.events.flush().await;
    let web: Value = client.request(get(&path)).await.unwrap();
    let events = "/apis/events.k8s.io/v1/namespaces/default/events";
    let events: Value = client.request(get(events)).await.unwrap();
    let mut shown = format!(
        "{:?} {:?} {:?}",
        report.outcome, report.notes, report.history
    );
    for call in &report.effects.trace {
        write!(shown, "\n{} {} {}", call.function, call.object, call.result).unwrap();
    }
    for change in &report.changes {
        write!(shown, "\n{}", change.diff).unwrap();
    }
    let status = format!("{}\n{}", report.status, yaml::write(&report.status));
    vec![
        ("the report", shown),
        ("the status that is reported", status),
        (
            "the custom resource",
            format!("{web}\n{}", yaml::write(&web)),
        ),
        ("an Event", format!("{events}\n{}", yaml::write(&events))),
    ]
}

#[test]
fn no_text_that_leaves_a_run_contains_a_secret() {
    let log = Log::default();
    let writer = log.clone();
    // As text and as JSON.
    let text = tracing_subscriber::fmt::layer().with_ansi(false);
    let text = text.with_writer({
        let writer = writer.clone();
        move || writer.clone()
    });
    let json = tracing_subscriber::fmt::layer().json().with_span_list(true);
    let json = json.with_writer(move || writer.clone());
    let subscriber = tracing_subscriber::registry()
        .with(LevelFilter::DEBUG)
        .with(text)
        .with(json);
    tracing::subscriber::set_global_default(subscriber).unwrap();
    let runtime = Runtime::new().unwrap();
    let config = Config {
        cases: 48,
        failure_persistence: None,
        ..Config::default()
    };
    let seed = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
    let mut runner = TestRunner::new_with_rng(config, seed);
    let statements = subsequence(STATEMENTS.to_vec(), 4..16).prop_shuffle();
    let end = prop::sample::select(ENDS.to_vec());
    let mode = prop::sample::select(vec![Mode::Operator, Mode::Once, Mode::Plan]);
    // Half of the cases refuse nothing, the others every second write or so; Events always get through.
    let refusals = prop_oneof![Just(0), any::<u64>().prop_map(|bits| bits & !(1 << 63))];
    let cases = (value(), statements, end, mode, refusals);
    let masks = AtomicU64::new(0);
    let run = runner.run(&cases, |(value, statements, end, mode, refusals)| {
        let script = script(&statements, end);
        let mut outputs = runtime.block_on(outputs(&value, &script, refusals, mode));
        let lines = std::mem::take(&mut *log.0.lock());
        outputs.push(("the log", String::from_utf8(lines).unwrap()));
        for (place, text) in &outputs {
            for form in forms(&value) {
                prop_assert!(
                    !contains(text, &form),
                    "{place} has {form:?} of {value:?}: {text}\n{script}"
                );
            }
        }
        let masked = outputs
            .iter()
            .filter(|(_, text)| text.contains("[redacted]"));
        masks.fetch_add(masked.count() as u64, Ordering::SeqCst);
        Ok(())
    });
    assert!(run.is_ok(), "{}", run.unwrap_err());
    // Roles that show nothing would prove nothing.
    let masks = masks.into_inner();
    assert!(masks > 100, "{masks}");
}
