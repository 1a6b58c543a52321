//! Tests of objects at the depth limit: every kind of request handles them on a stack of the usual size.

use http::Request;
use serde_json::{Value, json};

use super::{client, server};
use crate::schema::decode::{MAX_DEPTH, MAX_JSON_DEPTH, depth, json_within};

/// The stack of a tokio worker thread.
const STACK: usize = 2 << 20;

const JSON: &str = "application/json";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";
const JSON_PATCH: &str = "application/json-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const REVISIONS: &str = "/apis/apps/v1/namespaces/default/controllerrevisions";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const FREE: &str = "/apis/deep.ex.io/v1/namespaces/default/frees";
const TYPED_OBJECTS: &str = "/apis/deep.ex.io/v1/namespaces/default/typeds";

/// Runs requests on a thread with a small stack.
fn on_small_stack(requests: impl AsyncFnOnce() + Send + 'static) {
    let run = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.enable_all().build().unwrap();
        runtime.block_on(requests());
    };
    let thread = std::thread::Builder::new().stack_size(STACK);
    thread.spawn(run).unwrap().join().unwrap();
}

/// Sends a request and returns the text of the response, or the code and the message of the refusal.
async fn send(
    client: &kube::Client,
    method: &str,
    path: &str,
    content_type: &str,
    body: &Value,
) -> Result<String, String> {
    let request = Request::builder().method(method).uri(path);
    let request = request
        .header("Content-Type", content_type)
        .header("Accept", JSON);
    let body = match method {
        "GET" => Vec::new(),
        _ => body.to_string().into_bytes(),
    };
    match client.request_text(request.body(body).unwrap()).await {
        Ok(text) => Ok(text),
        Err(kube::Error::Api(status)) => Err(format!("{} {}", status.code, status.message)),
        Err(other) => panic!("{method} {path}: {other}"),
    }
}

async fn read(client: &kube::Client, path: &str) -> Value {
    let text = send(client, "GET", path, JSON, &Value::Null).await.unwrap();
    json_within(text.as_bytes(), MAX_JSON_DEPTH).unwrap().value
}

async fn accept(client: &kube::Client, method: &str, path: &str, media: &str, body: &Value) {
    let result = send(client, method, path, media, body).await;
    if let Err(why) = result {
        panic!("{method} {path} {media}: {why}");
    }
}

/// Returns maps nested `levels` deep.
fn nested(levels: usize, leaf: &str) -> Value {
    (1..levels).fold(json!({"leaf": leaf}), |inner, _| json!({"a": inner}))
}

/// Returns lists nested `levels` deep.
fn listed(levels: usize) -> Value {
    (1..levels).fold(json!(["leaf"]), |inner, _| json!([inner]))
}

/// Returns alternating maps and lists nested `levels` deep.
fn mixed(levels: usize, leaf: &str) -> Value {
    let first = if levels.is_multiple_of(2) {
        json!([leaf])
    } else {
        json!({"a": leaf})
    };
    (1..levels).rev().fold(first, |inner, level| {
        if level.is_multiple_of(2) {
            json!([inner])
        } else {
            json!({"a": inner})
        }
    })
}

/// Returns a definition of `kind` with a schema for its `spec`.
fn definition(kind: &str, spec: &Value) -> Value {
    let singular = kind.to_lowercase();
    let plural = format!("{singular}s");
    json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": format!("{plural}.deep.ex.io")},
        "spec": {
            "group": "deep.ex.io", "scope": "Namespaced",
            "names": {"kind": kind, "plural": plural, "singular": singular},
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {"status": {}},
                "schema": {"openAPIV3Schema": {
                    "type": "object", "properties": {"spec": spec},
                }},
            }],
        },
    })
}

/// Returns a schema of maps nested `levels` deep. The innermost one has a rule and a default.
fn typed_schema(levels: usize) -> Value {
    let leaf = json!({
        "type": "object",
        "default": {"leaf": "y"},
        "properties": {"leaf": {"type": "string", "default": "x"}},
        "x-kubernetes-validations": [{"rule": "self.leaf != 'never'"}],
    });
    (1..levels).fold(
        leaf,
        |inner, _| json!({"type": "object", "default": {}, "properties": {"a": inner}}),
    )
}

fn custom(kind: &str, name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "deep.ex.io/v1", "kind": kind,
        "metadata": {"name": name}, "spec": spec,
    })
}

/// Sends each kind of request for a custom resource. `specs` are the specs before and after a change.
async fn write_in_every_way(client: &kube::Client, path: &str, kind: &str, specs: [Value; 2]) {
    let [before, after] = &specs;
    let at = |name: &str| format!("{path}/{name}");
    accept(client, "POST", path, JSON, &custom(kind, "one", before)).await;
    let one = send(client, "GET", &at("one"), JSON, &Value::Null)
        .await
        .unwrap();
    let version = one.split(r#""resourceVersion":""#).nth(1).unwrap();
    let version = version.split('"').next().unwrap().to_owned();
    let mut replacement = custom(kind, "one", after);
    replacement["metadata"]["resourceVersion"] = version.into();
    accept(client, "PUT", &at("one"), JSON, &replacement).await;
    accept(client, "PATCH", &at("one"), MERGE, &json!({"spec": before})).await;
    // The document of a JSON patch is two levels deeper than its value.
    let inner = &after["a"];
    let step = json!([{"op": "replace", "path": "/spec/a", "value": inner}]);
    accept(client, "PATCH", &at("one"), JSON_PATCH, &step).await;
    let test = json!([
        {"op": "test", "path": "/spec/a", "value": inner},
        {"op": "copy", "from": "/spec", "path": "/spec"},
    ]);
    accept(client, "PATCH", &at("one"), JSON_PATCH, &test).await;
    for (manager, spec) in [("b", before), ("b", after), ("c", before)] {
        let url = format!("{}?fieldManager={manager}&force=true", at("two"));
        accept(client, "PATCH", &url, APPLY, &custom(kind, "two", spec)).await;
    }
    let status = json!({"status": {"a": 1}});
    accept(
        client,
        "PATCH",
        &format!("{}/status", at("one")),
        MERGE,
        &status,
    )
    .await;
    for query in ["", "?fieldValidation=Strict"] {
        let mut unknown = custom(kind, "three", before);
        unknown["other"] = nested(MAX_DEPTH - 1, "x");
        let url = format!("{path}{query}");
        let _ = send(client, "POST", &url, JSON, &unknown).await;
    }
    accept(client, "GET", path, JSON, &Value::Null).await;
    let watch = format!(
        "{path}?watch=1&timeoutSeconds=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
    );
    let events = send(client, "GET", &watch, JSON, &Value::Null)
        .await
        .unwrap();
    assert!(events.contains("ADDED"), "{events}");
    accept(client, "DELETE", &at("one"), JSON, &json!({})).await;
    accept(client, "DELETE", path, JSON, &json!({})).await;
}

#[test]
fn custom_resources_without_a_schema_can_be_as_deep_as_the_limit() {
    on_small_stack(async || {
        let server = server();
        let client = client(&server);
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        accept(
            &client,
            "POST",
            DEFINITIONS,
            JSON,
            &definition("Free", &schema),
        )
        .await;
        let levels = MAX_DEPTH - 1;
        for [before, after] in [
            [nested(levels, "1"), nested(levels, "2")],
            [mixed(levels, "1"), mixed(levels, "2")],
            [
                json!({"a": listed(levels - 1)}),
                json!({"a": listed(levels - 2)}),
            ],
        ] {
            write_in_every_way(&client, FREE, "Free", [before, after]).await;
        }
        let saved = custom("Free", "saved", &nested(levels, "1"));
        accept(&client, "POST", FREE, JSON, &saved).await;
        let other = super::server();
        other.load(&server.save()).unwrap();
        let saved = format!("{FREE}/saved");
        let loaded = read(&super::client(&other), &saved).await;
        assert_eq!(loaded, read(&client, &saved).await);
        // The managed fields of the object are deeper than the object.
        assert!(depth(&loaded) > MAX_DEPTH);
        accept(&client, "PUT", &saved, JSON, &loaded).await;
        let yaml = Request::get(&saved).header("Accept", "application/yaml");
        let yaml = client.request_text(yaml.body(Vec::new()).unwrap()).await;
        assert!(yaml.unwrap().contains("leaf:"));
    });
}

#[test]
fn custom_resources_with_a_schema_can_be_as_deep_as_their_definition() {
    on_small_stack(async || {
        let server = server();
        let client = client(&server);
        // Each level of the schema adds two levels to the definition.
        let rest = depth(&definition("Typed", &typed_schema(1))) - 2;
        let levels = (MAX_DEPTH - rest) / 2;
        let typed = definition("Typed", &typed_schema(levels));
        assert!(depth(&typed) >= MAX_DEPTH - 2, "{}", depth(&typed));
        accept(&client, "POST", DEFINITIONS, JSON, &typed).await;
        let applied = format!("{DEFINITIONS}/typeds.deep.ex.io?fieldManager=a&force=true");
        accept(&client, "PATCH", &applied, APPLY, &typed).await;
        for path in ["/openapi/v2", "/openapi/v3/apis/deep.ex.io/v1", DEFINITIONS] {
            accept(&client, "GET", path, JSON, &Value::Null).await;
        }
        let specs = [nested(levels, "1"), nested(levels, "2")];
        write_in_every_way(&client, TYPED_OBJECTS, "Typed", specs).await;
        accept(
            &client,
            "POST",
            TYPED_OBJECTS,
            JSON,
            &custom("Typed", "default", &json!({})),
        )
        .await;
    });
}

#[test]
fn built_in_objects_can_be_as_deep_as_the_limit() {
    on_small_stack(async || {
        let server = server();
        let client = client(&server);
        for levels in [MAX_DEPTH - 1, MAX_DEPTH] {
            let map = json!({"metadata": {"name": "m"}, "unknown": nested(levels, "x")});
            let result = send(&client, "POST", CONFIG_MAPS, JSON, &map).await;
            match result {
                Ok(_) => assert!(levels < MAX_DEPTH),
                Err(why) => assert!(levels == MAX_DEPTH && why.starts_with("400 "), "{why}"),
            }
        }
        for media in [MERGE, STRATEGIC] {
            let patch = json!({"unknown": nested(MAX_DEPTH - 1, "x")});
            accept(&client, "PATCH", &format!("{CONFIG_MAPS}/m"), media, &patch).await;
        }
        let revision = |name: &str, levels| {
            json!({
                "metadata": {"name": name}, "revision": 1, "data": mixed(levels, "x"),
            })
        };
        accept(
            &client,
            "POST",
            REVISIONS,
            JSON,
            &revision("r", MAX_DEPTH - 1),
        )
        .await;
        let patch = json!({"data": {"b": mixed(MAX_DEPTH - 2, "x")}});
        for media in [MERGE, STRATEGIC] {
            let _ = send(&client, "PATCH", &format!("{REVISIONS}/r"), media, &patch).await;
        }
        let table = Request::get(REVISIONS)
            .header("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io");
        let table = table.body(Vec::new()).unwrap();
        client.request_text(table).await.unwrap();
    });
}

#[test]
fn objects_beyond_the_limit_are_refused() {
    on_small_stack(async || {
        let server = server();
        let client = client(&server);
        let schema = json!({"type": "object", "x-kubernetes-preserve-unknown-fields": true});
        accept(
            &client,
            "POST",
            DEFINITIONS,
            JSON,
            &definition("Free", &schema),
        )
        .await;
        for levels in [MAX_DEPTH, MAX_DEPTH + 1, 2000] {
            let object = custom("Free", "one", &nested(levels, "x"));
            let why = send(&client, "POST", FREE, JSON, &object)
                .await
                .unwrap_err();
            assert!(
                why.starts_with("400 ") && why.contains("exceeded max depth"),
                "{why}"
            );
            let path = format!("{FREE}/one?fieldManager=a");
            let why = send(&client, "PATCH", &path, APPLY, &object)
                .await
                .unwrap_err();
            assert!(why.starts_with("400 "), "{why}");
        }
        let shallow = custom("Free", "one", &nested(200, "x"));
        accept(&client, "POST", FREE, JSON, &shallow).await;
        let innermost = format!("/spec{}/leaf", "/a".repeat(199));
        for operation in ["add", "replace"] {
            let step = |levels| json!([{"op": operation, "path": innermost, "value": nested(levels, "x")}]);
            let one = format!("{FREE}/one");
            let fits = MAX_DEPTH - 201;
            let refused = send(&client, "PATCH", &one, JSON_PATCH, &step(fits + 1)).await;
            assert!(refused.unwrap_err().starts_with("422 "));
            accept(&client, "PATCH", &one, JSON_PATCH, &step(fits)).await;
        }
    });
}
