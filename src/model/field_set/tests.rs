//! Vectors are answers of kube-apiserver 1.36: what was applied, what our manager then owned, and the
//! live object.

use proptest::prelude::*;
use serde_json::json;

use super::*;

struct Vector {
    desired: Value,
    set: FieldSet,
    live: Value,
}

fn vector(text: &str) -> Vector {
    let mut vector: Value = serde_json::from_str(text).unwrap();
    Vector {
        desired: vector["desired"].take(),
        set: FieldSet::parse(&vector["fields"].to_string()).unwrap(),
        live: vector["live"].take(),
    }
}

fn deployment() -> Vector {
    vector(include_str!("vectors/deployment.json"))
}

#[test]
fn an_object_that_the_server_stored_matches() {
    for text in [
        include_str!("vectors/clusterrole.json"),
        include_str!("vectors/configmap.json"),
        include_str!("vectors/deployment.json"),
        include_str!("vectors/rolebinding.json"),
        include_str!("vectors/service.json"),
    ] {
        let Vector { desired, set, live } = vector(text);
        assert!(set.matches(&desired, &live), "{desired}");
    }
}

#[test]
fn a_status_that_the_server_ignored_has_to_be_taken_out_first() {
    let Vector {
        mut desired,
        set,
        live,
    } = vector(include_str!("vectors/widget.json"));
    assert!(!set.matches(&desired, &live));
    desired.as_object_mut().unwrap().remove("status");
    assert!(set.matches(&desired, &live));
}

#[test]
fn a_normalised_or_converted_value_is_a_difference() {
    for text in [
        include_str!("vectors/normalised.json"),
        include_str!("vectors/secret.json"),
    ] {
        let Vector { desired, set, live } = vector(text);
        assert!(!set.matches(&desired, &live), "{desired}");
    }
}

#[test]
fn a_field_more_or_less_is_a_difference() {
    let Vector { desired, set, live } = deployment();
    let container = "/spec/template/spec/containers/0";
    let mut less = desired.clone();
    less.pointer_mut(container)
        .unwrap()
        .as_object_mut()
        .unwrap()
        .remove("command");
    assert!(!set.matches(&less, &live));
    let mut more = desired.clone();
    more.pointer_mut(container).unwrap()["tty"] = json!(true);
    assert!(!set.matches(&more, &live));
    let mut atomic = desired;
    atomic
        .pointer_mut("/spec/template/spec/nodeSelector")
        .unwrap()["c"] = json!("d");
    assert!(!set.matches(&atomic, &live));
}

#[test]
fn an_item_more_or_less_in_a_list_map_is_a_difference() {
    let Vector { desired, set, live } = deployment();
    let ports = "/spec/template/spec/containers/0/ports";
    let mut less = desired.clone();
    less.pointer_mut(ports)
        .unwrap()
        .as_array_mut()
        .unwrap()
        .pop();
    assert!(!set.matches(&less, &live));
    let mut more = desired;
    let port = json!({"containerPort": 82});
    more.pointer_mut(ports)
        .unwrap()
        .as_array_mut()
        .unwrap()
        .push(port);
    assert!(!set.matches(&more, &live));
}

#[test]
fn drift_of_owned_values_is_a_difference() {
    let Vector { desired, set, live } = deployment();
    let before = set.digest(&live, &desired);
    let mut foreign = live.clone();
    foreign["metadata"]["annotations"] = json!({"someone": "else"});
    foreign["spec"]["paused"] = json!(true);
    assert!(set.matches(&desired, &foreign));
    assert_eq!(set.digest(&foreign, &desired), before);
    let mut drifted = live;
    drifted["spec"]["replicas"] = json!(7);
    assert!(!set.matches(&desired, &drifted));
    assert_ne!(set.digest(&drifted, &desired), before);
}

#[test]
fn a_key_field_left_to_its_default_finds_its_item() {
    let set = FieldSet::parse(
        r#"{"f:ports":{
            "k:{\"port\":80,\"protocol\":\"TCP\"}":{".":{},"f:port":{},"f:x":{}},
            "k:{\"port\":80,\"protocol\":\"UDP\"}":{".":{},"f:port":{},"f:protocol":{},"f:x":{}}}}"#,
    )
    .unwrap();
    let udp = json!({"port": 80, "protocol": "UDP", "x": 2});
    let desired = json!({"ports": [udp, {"port": 80, "x": 1}]});
    let live = json!({"ports": [{"port": 80, "protocol": "TCP", "x": 1}, udp]});
    assert!(set.matches(&desired, &live));
    let swapped = json!({"ports": [{"port": 80, "protocol": "TCP", "x": 2}, udp]});
    assert!(!set.matches(&desired, &swapped));
}

#[test]
fn others_may_fill_a_map_that_was_applied_empty() {
    let set = FieldSet::parse(r#"{"f:spec":{"f:open":{}}}"#).unwrap();
    let desired = json!({"spec": {"open": {}}});
    let live = json!({"spec": {"open": {"theirs": 1}}});
    assert!(set.matches(&desired, &live));
    let empty = json!({"spec": {"open": {}}});
    assert_eq!(set.digest(&live, &desired), set.digest(&empty, &desired));
}

#[test]
fn invalid_field_sets_are_refused() {
    for text in [
        "{",
        r#"{"x:a":{}}"#,
        r#"{"f":{}}"#,
        r#"{"i:x":{}}"#,
        r#"{"k:[1]":{}}"#,
    ] {
        assert!(FieldSet::parse(text).is_err(), "{text}");
    }
}

/// The set of an object as the server would write it where it knows no schema: maps are granular,
/// everything else is a leaf.
fn set_of(value: &Value) -> Value {
    let fields = value.as_object().into_iter().flatten();
    fields
        .map(|(name, v)| (format!("f:{name}"), set_of(v)))
        .collect()
}

fn trees() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        any::<bool>().prop_map(Value::from),
        any::<i32>().prop_map(Value::from),
        "[a-z.:]{0,6}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 5, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            proptest::collection::btree_map("[a-c:/.]{1,3}", inner, 0..5)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

proptest! {
    #[test]
    fn an_object_matches_its_own_set(spec in trees()) {
        let object = json!({"spec": spec});
        let set = FieldSet::from_value(&set_of(&object)).unwrap();
        prop_assert!(set.matches(&object, &object));
    }

    #[test]
    fn a_changed_object_matches_only_if_it_is_equal(spec in trees(), other in trees()) {
        let (desired, live) = (json!({"spec": spec}), json!({"spec": other}));
        let set = FieldSet::from_value(&set_of(&desired)).unwrap();
        let matches = set.matches(&desired, &live);
        let same_digest = set.digest(&live, &desired) == set.digest(&desired, &desired);
        prop_assert!(matches || !same_digest);
        // A map or list that was applied empty may be gone, and the maps around it with it: nothing
        // would change, and yet it looks different.
        prop_assert!(same_digest || !matches || has_empty(&desired));
    }
}

fn has_empty(value: &Value) -> bool {
    match value {
        Value::Object(fields) => fields.is_empty() || fields.values().any(has_empty),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[test]
fn a_value_of_another_type_is_another_value() {
    for live in [json!(false), json!(["x"]), json!("x")] {
        let (desired, live) = (
            json!({"spec": {"a": {"b": []}}}),
            json!({"spec": {"a": live}}),
        );
        let set = FieldSet::from_value(&set_of(&desired)).unwrap();
        assert!(!set.matches(&desired, &live), "{live}");
        assert_ne!(
            set.digest(&live, &desired),
            set.digest(&desired, &desired),
            "{live}"
        );
    }
}

#[test]
fn defaults_inside_values_owned_as_a_whole_are_no_difference() {
    let owned = r#"{"f:spec":{"f:volumeClaimTemplates":{},"f:ingress":{}}}"#;
    let set = FieldSet::parse(owned).unwrap();
    let claim = json!({
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    let ingress = json!([{"ports": [{"port": 80}]}]);
    let desired = json!({"spec": {"volumeClaimTemplates": [claim], "ingress": ingress}});
    let mut live = desired.clone();
    let template = &mut live["spec"]["volumeClaimTemplates"][0];
    template["apiVersion"] = json!("v1");
    template["kind"] = json!("PersistentVolumeClaim");
    template["spec"]["volumeMode"] = json!("Filesystem");
    template["status"] = json!({"phase": "Pending"});
    live["spec"]["ingress"][0]["ports"][0]["protocol"] = json!("TCP");
    assert!(set.matches(&desired, &live));
    for (path, value) in [
        (
            "/spec/volumeClaimTemplates/0/spec/volumeMode",
            json!("Block"),
        ),
        (
            "/spec/volumeClaimTemplates/0/spec/storageClassName",
            json!("fast"),
        ),
        ("/spec/ingress/0/ports/0/port", json!(81)),
        ("/spec/ingress/0/ports/0/endPort", json!(90)),
    ] {
        let mut changed = live.clone();
        let (parent, name) = path.rsplit_once('/').unwrap();
        changed.pointer_mut(parent).unwrap()[name] = value;
        assert!(!set.matches(&desired, &changed), "{path}");
    }
}
