//! CRDs accept what their inputs accept, and keep what inputs do not describe.

use embedded_apiserver::{ApiServer, Options};
use proptest::prelude::*;

use super::*;
use crate::role::{Violation, parse_inputs, violations};

const META: &str = "
inputs:
  size: {type: integer, minimum: 1, maximum: 10, default: 3}
  title: {type: string, required: true, maxLength: 20, pattern: '^[a-z]+$', immutable: true}
  tier: {type: string, enum: [free, paid]}
  ratio: {type: number, maximum: 0.5}
  address: {type: string, format: ipv4}
  tls: {type: object, properties: {secret: {type: string, required: true}}}
  ports: {type: array, minItems: 1, items: {type: integer}}
  labels: {type: object}
";

fn generate(meta: &str, existing: Option<&Value>) -> Value {
    let inputs = parse_inputs(meta);
    assert!(!inputs.is_empty(), "{meta}");
    let definition = Definition {
        group: "web.example.com",
        kind: "Site",
        versions: vec![DefinedVersion {
            name: "v1",
            description: "A site.",
            inputs: &inputs,
        }],
    };
    definition.generate(existing)
}

fn schema(crd: &Value) -> &Value {
    &crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]
}

#[test]
fn each_key_of_an_input_has_its_key_in_the_schema() {
    let crd = generate(META, None);
    assert_eq!(crd["metadata"]["name"], "sites.web.example.com");
    assert_eq!(file_name(&crd), "web.example.com_sites.yaml");
    let spec = &schema(&crd)["spec"];
    let expected = json!({
        "size": {"type": "integer", "minimum": 1, "maximum": 10, "default": 3},
        "title": {"type": "string", "maxLength": 20, "pattern": "^[a-z]+$",
                  "x-kubernetes-validations": [{"rule": "self == oldSelf", "message": "is immutable"}]},
        "tier": {"type": "string", "enum": ["free", "paid"]},
        "ratio": {"type": "number", "maximum": 0.5},
        "address": {"type": "string", "format": "ipv4"},
        "tls": {"type": "object", "properties": {"secret": {"type": "string"}},
                "required": ["secret"]},
        "ports": {"type": "array", "minItems": 1, "items": {"type": "integer"},
                  "x-kubernetes-list-type": "atomic"},
        "labels": {"type": "object", "x-kubernetes-preserve-unknown-fields": true},
    });
    assert_eq!(spec["properties"], expected);
    assert_eq!(spec["required"], json!(["title"]));
    let version = &crd["spec"]["versions"][0];
    assert_eq!(version["subresources"], json!({"status": {}}));
    let columns = version["additionalPrinterColumns"].as_array().unwrap();
    let names: Vec<_> = columns.iter().map(|column| &column["name"]).collect();
    assert_eq!(
        names,
        ["Address", "Ratio", "Size", "Ready", "Status", "Age"]
    );
}

#[test]
fn an_existing_crd_keeps_what_inputs_do_not_describe() {
    let mut crd = generate("inputs: {size: {type: integer}}", None);
    crd["spec"]["names"]["shortNames"] = json!(["st"]);
    crd["spec"]["versions"][0]["additionalPrinterColumns"] = json!([]);
    let old = json!({"name": "v0", "served": false, "storage": false, "schema": {}});
    crd["spec"]["versions"].as_array_mut().unwrap().push(old);
    let root = &mut crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
    root["properties"]["status"]["properties"]["url"] = json!({"type": "string"});
    assert_eq!(generate("inputs: {size: {type: integer}}", Some(&crd)), crd);
    let changed = generate("inputs: {size: {type: string}}", Some(&crd));
    let mut expected = crd.clone();
    expected["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"]
        ["size"]["type"] = json!("string");
    assert_eq!(changed, expected);
}

/// A server with a CRD.
async fn server(crd: &Value) -> ApiServer {
    let server = ApiServer::new(Options::default());
    let (status, answer) = post(
        &server,
        "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
        crd,
    )
    .await;
    assert_eq!(status, 201, "{answer}\n{crd:#}");
    server
}

async fn post(server: &ApiServer, path: &str, body: &Value) -> (u16, String) {
    send(server, "POST", path, body).await
}

async fn send(server: &ApiServer, method: &str, path: &str, body: &Value) -> (u16, String) {
    let content_type = match method {
        "PATCH" => "application/merge-patch+json",
        _ => "application/json",
    };
    let request = http::Request::builder()
        .method(method)
        .uri(path)
        .header("content-type", content_type)
        .body(body.to_string().into_bytes())
        .unwrap();
    match server.client().request_text(request).await {
        Ok(text) if method == "POST" => (201, text),
        Ok(text) => (200, text),
        Err(kube::Error::Api(status)) => (status.code, status.message.clone()),
        Err(error) => panic!("{error}"),
    }
}

const SITES: &str = "/apis/web.example.com/v1/namespaces/default/sites";

fn site(spec: &Value) -> Value {
    json!({"apiVersion": "web.example.com/v1", "kind": "Site", "metadata": {"name": "a"}, "spec": spec})
}

#[tokio::test]
async fn an_immutable_field_cannot_be_changed_or_removed() {
    let meta = "inputs: {namespace: {type: string, immutable: true}, size: {type: integer}, \
                tls: {type: object, properties: {secret: {type: string, immutable: true}}}}";
    let server = server(&generate(meta, None)).await;
    let spec = json!({"namespace": "a", "size": 1, "tls": {"secret": "s"}});
    let (status, answer) = post(&server, SITES, &site(&spec)).await;
    assert_eq!(status, 201, "{answer}");
    let path = format!("{SITES}/a");
    for (change, expected) in [
        (json!({"size": 2}), 200),
        (json!({"namespace": "b"}), 422),
        (json!({"namespace": null}), 422),
        (json!({"tls": {"secret": null}}), 422),
        (json!({"tls": null}), 422),
    ] {
        let patch = json!({ "spec": change });
        let (status, answer) = send(&server, "PATCH", &path, &patch).await;
        assert_eq!(status, expected, "{change}: {answer}");
    }
}

/// Inputs of one type, as YAML, which is JSON here.
fn input(depth: u32) -> BoxedStrategy<Value> {
    let text = (
        prop::option::of(0..3u64),
        prop::option::of(3..6u64),
        prop::option::of(prop::sample::select(vec![
            "^a", "b$", r"^\d+$", "[x-z]{2}", "^$",
        ])),
        prop::option::of(prop::sample::select(vec![
            "ipv4", "date", "uuid", "byte", "hostname",
        ])),
    )
        .prop_map(|(least, most, pattern, format)| {
            json!({"type": "string", "minLength": least, "maxLength": most, "pattern": pattern,
                   "format": format})
        });
    let choice = Just(json!({"type": "string", "enum": ["a", "b", "12"]}));
    let numbers = (
        any::<bool>(),
        prop::option::of(-3..2i64),
        prop::option::of(2..9i64),
    )
        .prop_map(|(whole, least, most)| {
            let kind = if whole { "integer" } else { "number" };
            json!({"type": kind, "minimum": least, "maximum": most})
        });
    let flag = Just(json!({"type": "boolean"}));
    let scalar = prop_oneof![text, choice, numbers, flag];
    if depth == 0 {
        return scalar.boxed();
    }
    let list = (
        prop::option::of(input(depth - 1)),
        prop::option::of(0..2u64),
        prop::option::of(2..4u64),
    )
        .prop_map(|(items, least, most)| {
            json!({"type": "array", "items": items, "minItems": least, "maxItems": most})
        });
    let map = prop::option::of(inputs(depth - 1))
        .prop_map(|properties| json!({"type": "object", "properties": properties}));
    prop_oneof![2 => scalar, 1 => list, 1 => map].boxed()
}

fn inputs(depth: u32) -> BoxedStrategy<Value> {
    let field = (input(depth), any::<bool>()).prop_map(|(mut input, required)| {
        input["required"] = required.into();
        input
    });
    let names = prop::sample::select(vec!["a", "b", "c-d", "e.f"]);
    prop::collection::btree_map(names, field, 1..4)
        .prop_map(|fields| json!(fields))
        .boxed()
}

fn value(depth: u32) -> BoxedStrategy<Value> {
    let scalar = prop_oneof![
        prop::sample::select(vec![
            "",
            "a",
            "b",
            "12",
            "xyz",
            "ab",
            "10.0.0.1",
            "2026-01-31",
            "QUJD"
        ])
        .prop_map(Value::from),
        (-4..10i64).prop_map(Value::from),
        prop::sample::select(vec![0.5, 2.0, -1.5]).prop_map(Value::from),
        any::<bool>().prop_map(Value::from),
        Just(Value::Null),
    ];
    if depth == 0 {
        return scalar.boxed();
    }
    let list = prop::collection::vec(value(depth - 1), 0..4).prop_map(Value::from);
    prop_oneof![4 => scalar, 1 => list, 1 => spec(depth - 1)].boxed()
}

fn spec(depth: u32) -> BoxedStrategy<Value> {
    let names = prop::sample::select(vec!["a", "b", "c-d", "e.f"]);
    prop::collection::btree_map(names, value(depth), 0..4)
        .prop_map(|fields| json!(fields))
        .boxed()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    /// Values are many for each CRD, because a server takes longer than a value.
    #[test]
    fn a_crd_accepts_exactly_what_its_inputs_accept(
        inputs in inputs(2), specs in prop::collection::vec(spec(2), 24)
    ) {
        let meta = json!({ "inputs": inputs }).to_string();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let server = server(&generate(&meta, None)).await;
            let parsed = parse_inputs(&meta);
            for spec in specs {
                let path = format!("{SITES}?dryRun=All");
                let (status, answer) = post(&server, &path, &site(&spec)).await;
                let found = violations(&parsed, spec.as_object().unwrap(), "spec");
                // The API server does not check the type of a list where a string has a format:
                // https://github.com/kubernetes/kube-openapi/blob/master/pkg/validation/validate/type.go
                let is_list_in_format = |it: &Violation| {
                    it.expected.contains("in the format")
                        && it.found.as_deref().is_some_and(|found| found.starts_with('['))
                };
                let is_valid = found.iter().all(is_list_in_format);
                let expected = if is_valid { 201 } else { 422 };
                assert_eq!(status, expected, "{spec}: {found:?}\n{answer}\n{meta}");
            }
        });
    }
}
