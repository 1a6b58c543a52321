//! Tests of the life cycle of namespaces.

use serde_json::{Value, json};

use crate::{ApiServer, Options};

fn server() -> ApiServer {
    let server = ApiServer::new(Options::default());
    let namespace = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}});
    server
        .registry
        .write(|tx| tx.create("namespaces", "", namespace))
        .unwrap();
    server
}

fn find(server: &ApiServer, resource: &str, namespace: &str, name: &str) -> Option<Value> {
    let found = server
        .registry
        .write(|tx| tx.get(resource, namespace, name));
    found.map(|object| (*object).clone())
}

fn config_map(server: &ApiServer, finalizers: &Value) {
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "a", "finalizers": finalizers},
    });
    server
        .registry
        .write(|tx| tx.create("configmaps", "n", object))
        .unwrap();
}

#[test]
fn a_new_namespace_has_a_service_account_and_the_root_certificate() {
    let server = server();
    assert!(find(&server, "serviceaccounts", "n", "default").is_some());
    let map = find(&server, "configmaps", "n", "kube-root-ca.crt").unwrap();
    let certificate = map["data"]["ca.crt"].as_str().unwrap();
    assert!(
        certificate.starts_with("-----BEGIN CERTIFICATE-----"),
        "{certificate}"
    );
    let mut meddled = map.clone();
    meddled["data"] = json!({"ca.crt": "mine"});
    server
        .registry
        .write(|tx| tx.update("configmaps", "", meddled))
        .unwrap();
    let kept = find(&server, "configmaps", "n", "kube-root-ca.crt").unwrap();
    assert_eq!(kept["data"], map["data"]);
    server
        .registry
        .write(|tx| tx.delete("serviceaccounts", "n", "default", None))
        .unwrap();
    assert!(find(&server, "serviceaccounts", "n", "default").is_some());
}

#[test]
fn a_deleted_namespace_takes_its_content_with_it() {
    let server = server();
    config_map(&server, &Value::Null);
    server
        .registry
        .write(|tx| tx.delete("namespaces", "", "n", None))
        .unwrap();
    assert_eq!(find(&server, "namespaces", "", "n"), None);
    assert_eq!(find(&server, "configmaps", "n", "a"), None);
    assert_eq!(find(&server, "serviceaccounts", "n", "default"), None);
}

#[test]
fn a_namespace_waits_for_finalizers_and_says_so() {
    let server = server();
    config_map(&server, &json!(["ex.io/f"]));
    server
        .registry
        .write(|tx| tx.delete("namespaces", "", "n", None))
        .unwrap();
    let namespace = find(&server, "namespaces", "", "n").unwrap();
    assert_eq!(namespace["status"]["phase"], "Terminating");
    let conditions = namespace["status"]["conditions"].as_array().unwrap();
    let text = |at: usize| {
        let one = &conditions[at];
        format!(
            "{} {} {}: {}",
            one["type"], one["status"], one["reason"], one["message"]
        )
    };
    assert_eq!(conditions.len(), 5);
    let expected = r#""NamespaceContentRemaining" "True" "SomeResourcesRemain": "Some resources are remaining: configmaps. has 1 resource instances""#;
    assert_eq!(text(3), expected);
    let expected = r#""NamespaceFinalizersRemaining" "True" "SomeFinalizersRemain": "Some content in the namespace has finalizers remaining: ex.io/f in 1 resource instances""#;
    assert_eq!(text(4), expected);
    let mut object = find(&server, "configmaps", "n", "a").unwrap();
    object["metadata"]["finalizers"] = json!([]);
    server
        .registry
        .write(|tx| tx.update("configmaps", "", object))
        .unwrap();
    assert_eq!(find(&server, "namespaces", "", "n"), None);
}

#[test]
fn a_new_server_has_what_every_cluster_has() {
    let server = ApiServer::new(Options::default());
    for (resource, namespace, name) in [
        ("apiservices.apiregistration.k8s.io", "", "v1."),
        ("apiservices.apiregistration.k8s.io", "", "v1.apps"),
        (
            "priorityclasses.scheduling.k8s.io",
            "",
            "system-node-critical",
        ),
        ("services", "default", "kubernetes"),
        ("serviceaccounts", "kube-system", "default"),
    ] {
        assert!(
            find(&server, resource, namespace, name).is_some(),
            "{resource} {name}"
        );
    }
}
