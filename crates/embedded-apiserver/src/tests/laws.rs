//! Rules that hold for every apply to a server, on a kind with defaults and controllers.

use k8s_openapi::api::apps::v1::Deployment;
use kube::Api;
use kube::api::{Patch, PatchParams};
use proptest::collection::{btree_map, btree_set};
use proptest::option;
use proptest::prelude::*;
use serde_json::{Map, Value, json, to_value};

use super::{client, server};

/// Generates the configuration of one manager for the Deployment. Its names differ from those of other
/// managers. It contains no empty map, because a manager owns an empty map itself.
fn part(own: &'static str) -> impl Strategy<Value = Value> {
    let labels = btree_map("[a-c]", "[x-z]", 1..3);
    let env = btree_map("[A-C]", "[x-z]", 1..3);
    let ports = btree_set(1..5_i32, 1..3);
    let containers = btree_map("[a-b]", ("[x-z]", env, ports), 1..3);
    (labels, option::of(containers)).prop_map(move |(labels, containers)| {
        let labels: Map<String, Value> = labels
            .into_iter()
            .map(|(key, value)| (format!("{own}{key}"), value.into()))
            .collect();
        let mut part = json!({"metadata": {"labels": labels}});
        if let Some(containers) = containers {
            let containers = containers.into_iter().map(|(name, (image, env, ports))| {
                let env = env
                    .into_iter()
                    .map(|(name, value)| json!({"name": name, "value": value}));
                let ports = ports.into_iter().map(|port| json!({"containerPort": port}));
                json!({
                    "name": format!("{own}{name}"), "image": image,
                    "env": env.collect::<Value>(), "ports": ports.collect::<Value>(),
                })
            });
            part["spec"]["template"]["spec"]["containers"] = containers.collect();
        }
        part
    })
}

/// Returns the configuration that exists before the applies.
fn base() -> Value {
    json!({"spec": {
        "replicas": 1,
        "selector": {"matchLabels": {"app": "d"}},
        "template": {
            "metadata": {"labels": {"app": "d"}},
            "spec": {"containers": [{"name": "base", "image": "i"}]},
        },
    }})
}

/// Returns the object after a number of applies to a new server.
async fn applied(parts: &[(&str, &Value)]) -> Value {
    let api: Api<Deployment> = Api::default_namespaced(client(&server()));
    apply(&api, "base", &base()).await;
    for (manager, part) in parts {
        apply(&api, manager, part).await;
    }
    to_value(api.get("d").await.unwrap()).unwrap()
}

async fn apply(api: &Api<Deployment>, manager: &str, part: &Value) -> Deployment {
    let mut part = part.clone();
    part["apiVersion"] = json!("apps/v1");
    part["kind"] = json!("Deployment");
    let how = PatchParams::apply(manager);
    api.patch("d", &how, &Patch::Apply(part)).await.unwrap()
}

/// Returns the parts that do not depend on the order of two applies.
fn outcome(mut object: Value) -> Value {
    let by_name = |one: &Value| one["name"].to_string();
    let containers = &mut object["spec"]["template"]["spec"]["containers"];
    if let Value::Array(containers) = containers {
        containers.sort_by_key(by_name);
    }
    let mut owned = object["metadata"]["managedFields"].take();
    if let Value::Array(entries) = &mut owned {
        entries.retain(|entry| entry.get("subresource").is_none());
        entries.sort_by_key(|entry| entry["manager"].to_string());
        for entry in entries {
            entry["time"].take();
        }
    }
    json!([object["spec"], object["metadata"]["labels"], owned])
}

fn run<T>(test: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().build();
    runtime.unwrap().block_on(test)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn a_repeated_apply_writes_nothing(first in part("m"), second in part("m")) {
        run(async {
            let api: Api<Deployment> = Api::default_namespaced(client(&server()));
            apply(&api, "base", &base()).await;
            apply(&api, "m", &first).await;
            apply(&api, "m", &second).await;
            let before = api.get("d").await.unwrap();
            assert_eq!(apply(&api, "m", &second).await, before);
            assert_eq!(api.get("d").await.unwrap(), before);
        });
    }

    #[test]
    fn applies_of_different_fields_commute(one in part("m"), other in part("n")) {
        run(async {
            let first = applied(&[("m", &one), ("n", &other)]).await;
            let second = applied(&[("n", &other), ("m", &one)]).await;
            assert_eq!(outcome(first), outcome(second));
        });
    }
}
