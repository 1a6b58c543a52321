//! Tests of the schemas of built-in and custom kinds.

use super::{node::Relation, *};

fn node<'a>(schema: &'a Schema, path: &[&str]) -> &'a Node {
    let mut place = schema.root();
    for step in path {
        place = match *step {
            "[]" => place.at(place.node().list.as_ref().unwrap().items),
            name => place.child(name).unwrap(),
        };
    }
    place.node()
}

#[test]
fn a_built_in_kind_knows_the_keys_of_its_lists() {
    let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
    let ports = node(
        &schema,
        &["spec", "template", "spec", "containers", "[]", "ports"],
    );
    let list = ports.list.as_ref().unwrap();
    let keys = vec!["containerPort".into(), "protocol".into()];
    assert_eq!(list.relation, Relation::Keys(keys));
    let port = schema.root().at(list.items).node();
    let protocol = port.map.as_ref().unwrap().field("protocol").unwrap();
    assert_eq!(protocol.default, Some("TCP".into()));
    assert_eq!(protocol.go.as_deref(), Some("v1.Protocol"));
    assert!(Schema::builtin("apps", "v2", "Deployment").is_none());
}

#[test]
fn recursive_types_have_no_end() {
    let schema = Schema::builtin("apiextensions.k8s.io", "v1", "CustomResourceDefinition").unwrap();
    let mut path = vec!["spec", "versions", "[]", "schema", "openAPIV3Schema"];
    path.extend(["properties", "spec"].repeat(20));
    assert!(node(&schema, &path).map.is_some());
}

#[test]
fn a_custom_resource_has_metadata_and_what_it_declares() {
    let schema = Schema::custom(&json!({"type": "object", "properties": {
        "spec": {"type": "object", "properties": {
            "ports": {"type": "array", "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["port"], "items": {"type": "object"}}}},
        "extra": {"x-kubernetes-preserve-unknown-fields": true, "type": "object",
            "x-kubernetes-embedded-resource": true}}}));
    let ports = node(&schema, &["spec", "ports"]);
    assert_eq!(
        ports.list.as_ref().unwrap().relation,
        Relation::Keys(vec!["port".into()])
    );
    let owners = node(&schema, &["metadata", "ownerReferences"]);
    assert_eq!(
        owners.list.as_ref().unwrap().relation,
        Relation::Keys(vec!["uid".into()])
    );
    assert!(
        node(&schema, &["extra", "metadata", "labels", "a"])
            .scalar
            .is_some()
    );
    assert!(schema.root().child("nope").is_none());
}

#[test]
fn an_object_is_written_as_go_writes_it() {
    let schema = Schema::builtin("apps", "v1", "Deployment").unwrap();
    let mut object = json!({"apiVersion": "apps/v1", "kind": "Deployment", "nope": 1,
        "metadata": {"name": "a", "labels": {}, "annotations": {"a": null}, "uid": null},
        "spec": {"replicas": 0, "paused": false, "template": {"spec": {"containers": [
            {"name": "c", "env": [{"name": "A", "value": ""}], "livenessProbe": {}, "tty": null}],
            "volumes": [{"name": "v", "emptyDir": {}}]}}}});
    canonical::canonical(&schema, &mut object);
    assert_eq!(
        object,
        json!({"apiVersion": "apps/v1", "kind": "Deployment",
            "metadata": {"name": "a", "annotations": {"a": ""}},
            "spec": {"replicas": 0, "selector": null, "strategy": {},
                "template": {"metadata": {}, "spec": {"containers": [
                    {"name": "c", "env": [{"name": "A"}], "livenessProbe": {}, "resources": {}}],
                    "volumes": [{"name": "v", "emptyDir": {}}]}}},
            "status": {}})
    );
}
