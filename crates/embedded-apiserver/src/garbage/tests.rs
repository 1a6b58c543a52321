//! Tests of the garbage collector: cases that were observed on real clusters, and a property over random
//! sequences of creates and deletes.

use std::collections::BTreeMap;

use proptest::prelude::*;
use serde_json::{Value, json};

use crate::registry::Propagation;
use crate::{ApiServer, Options};

fn server() -> ApiServer {
    ApiServer::new(Options::default())
}

fn find(server: &ApiServer, name: &str) -> Option<Value> {
    let found = server
        .registry
        .write(|tx| tx.get("configmaps", "default", name));
    found.map(|object| (*object).clone())
}

fn uid(server: &ApiServer, name: &str) -> String {
    let object = find(server, name).unwrap();
    object["metadata"]["uid"].as_str().unwrap().to_owned()
}

fn owner(name: &str, uid: &str, blocks: bool) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "name": name, "uid": uid, "blockOwnerDeletion": blocks})
}

fn create_with(server: &ApiServer, name: &str, metadata: Value) {
    let mut object = json!({"apiVersion": "v1", "kind": "ConfigMap"});
    object["metadata"] = metadata;
    object["metadata"]["name"] = json!(name);
    let made = server
        .registry
        .write(|tx| tx.create("configmaps", "default", object));
    made.unwrap();
}

/// Creates a ConfigMap with owners.
fn create(server: &ApiServer, name: &str, owners: &[&str]) {
    let owners = owners.iter().map(|one| owner(one, &uid(server, one), true));
    let owners: Vec<Value> = owners.collect();
    create_with(server, name, json!({"ownerReferences": owners}));
}

fn delete(server: &ApiServer, name: &str, policy: Propagation) {
    let gone = server
        .registry
        .write(|tx| tx.delete("configmaps", "default", name, Some(policy)));
    gone.unwrap();
}

fn change(server: &ApiServer, name: &str, change: impl FnOnce(&mut Value)) {
    let mut object = find(server, name).unwrap();
    change(&mut object["metadata"]);
    let changed = server
        .registry
        .write(|tx| tx.update("configmaps", "", object));
    changed.unwrap();
}

#[test]
fn in_the_background_dependents_go_after_their_owner_and_theirs_after_them() {
    let server = server();
    create(&server, "a", &[]);
    create(&server, "b", &["a"]);
    create(&server, "c", &["b"]);
    delete(&server, "a", Propagation::Background);
    assert!(
        ["a", "b", "c"]
            .iter()
            .all(|name| find(&server, name).is_none())
    );
}

#[test]
fn an_owner_that_its_finalizer_holds_keeps_its_dependents() {
    let server = server();
    create_with(&server, "a", json!({"finalizers": ["ex.io/f"]}));
    create(&server, "b", &["a"]);
    delete(&server, "a", Propagation::Background);
    assert!(find(&server, "b").is_some());
    change(&server, "a", |metadata| metadata["finalizers"] = json!([]));
    assert!(find(&server, "a").is_none() && find(&server, "b").is_none());
}

#[test]
fn in_the_foreground_the_owner_waits_for_what_blocks_it() {
    let server = server();
    create(&server, "a", &[]);
    let owners = json!([owner("a", &uid(&server, "a"), true)]);
    create_with(
        &server,
        "b",
        json!({"ownerReferences": owners, "finalizers": ["ex.io/f"]}),
    );
    create(&server, "c", &["a"]);
    delete(&server, "a", Propagation::Foreground);
    assert!(find(&server, "c").is_none());
    let waiting = find(&server, "a").unwrap();
    assert_eq!(
        waiting["metadata"]["finalizers"],
        json!(["foregroundDeletion"])
    );
    assert!(find(&server, "b").unwrap()["metadata"]["deletionTimestamp"].is_string());
    change(&server, "b", |metadata| metadata["finalizers"] = json!([]));
    assert!(find(&server, "a").is_none() && find(&server, "b").is_none());
}

#[test]
fn in_the_foreground_what_does_not_block_is_not_waited_for() {
    let server = server();
    create(&server, "a", &[]);
    let owners = json!([owner("a", &uid(&server, "a"), false)]);
    create_with(
        &server,
        "b",
        json!({"ownerReferences": owners, "finalizers": ["ex.io/f"]}),
    );
    delete(&server, "a", Propagation::Foreground);
    assert!(find(&server, "a").is_none());
    assert!(find(&server, "b").unwrap()["metadata"]["deletionTimestamp"].is_string());
}

#[test]
fn orphans_lose_their_owner_and_stay() {
    let server = server();
    create(&server, "a", &[]);
    create(&server, "b", &["a"]);
    delete(&server, "a", Propagation::Orphan);
    assert!(find(&server, "a").is_none());
    assert_eq!(
        find(&server, "b").unwrap()["metadata"].get("ownerReferences"),
        None
    );
}

#[test]
fn of_two_owners_one_may_go() {
    let server = server();
    create(&server, "a", &[]);
    create(&server, "b", &[]);
    create(&server, "c", &["a", "b"]);
    delete(&server, "a", Propagation::Background);
    let kept = find(&server, "c").unwrap();
    let owners = kept["metadata"]["ownerReferences"].as_array().unwrap();
    assert_eq!(owners.len(), 1);
    assert_eq!(owners[0]["name"], "b");
    delete(&server, "b", Propagation::Background);
    assert!(find(&server, "c").is_none());
}

#[test]
fn an_owner_is_known_by_its_uid() {
    let server = server();
    create(&server, "a", &[]);
    create_with(
        &server,
        "b",
        json!({"ownerReferences": [owner("a", "other", false)]}),
    );
    create_with(
        &server,
        "c",
        json!({"ownerReferences": [owner("none", "other", false)]}),
    );
    assert!(find(&server, "b").is_none() && find(&server, "c").is_none());
}

#[test]
fn an_owner_of_an_unknown_kind_keeps_what_it_owns() {
    let server = server();
    let unknown = json!({"apiVersion": "ex.io/v1", "kind": "Widget", "name": "w", "uid": "1"});
    create_with(&server, "a", json!({"ownerReferences": [unknown]}));
    assert!(find(&server, "a").is_some());
}

#[test]
fn an_owner_is_looked_for_in_the_namespace_of_what_it_owns() {
    let server = server();
    create(&server, "a", &[]);
    let owner = owner("a", &uid(&server, "a"), false);
    let object = json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "b", "ownerReferences": [owner]},
    });
    let other = "kube-system";
    server
        .registry
        .write(|tx| tx.create("configmaps", other, object))
        .unwrap();
    assert!(
        server
            .registry
            .write(|tx| tx.get("configmaps", other, "b"))
            .is_none()
    );
}

#[test]
fn a_cluster_scoped_owner_owns_in_every_namespace_and_not_the_other_way() {
    let server = server();
    let namespace = server
        .registry
        .write(|tx| tx.get("namespaces", "", "default"))
        .unwrap();
    let uid_of_namespace = namespace["metadata"]["uid"].as_str().unwrap();
    let owner_of = json!({"apiVersion": "v1", "kind": "Namespace", "name": "default", "uid": uid_of_namespace});
    create_with(&server, "a", json!({"ownerReferences": [owner_of]}));
    assert!(find(&server, "a").is_some());
    let class = json!({
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": "p", "ownerReferences": [owner("none", "1", false)]},
        "value": 1,
    });
    let id = "priorityclasses.scheduling.k8s.io";
    server
        .registry
        .write(|tx| tx.create(id, "", class))
        .unwrap();
    assert!(server.registry.write(|tx| tx.get(id, "", "p")).is_some());
}

/// A step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Create {
        name: u8,
        owners: Vec<u8>,
        finalizer: bool,
        blocks: bool,
    },
    Delete {
        name: u8,
        policy: u8,
    },
    Free {
        name: u8,
    },
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let name = || 0..6_u8;
    let create = (
        name(),
        prop::collection::vec(name(), 0..3),
        any::<bool>(),
        any::<bool>(),
    );
    let step = prop_oneof![
        4 => create.prop_map(|(name, owners, finalizer, blocks)| Step::Create {
            name,
            owners,
            finalizer: finalizer && blocks,
            blocks,
        }),
        3 => (name(), 0..3_u8).prop_map(|(name, policy)| Step::Delete { name, policy }),
        2 => name().prop_map(|name| Step::Free { name }),
    ];
    prop::collection::vec(step, 1..40)
}

/// Executes a step, or skips it if it is not possible. `known` contains the last uid of each name.
fn take(server: &ApiServer, known: &mut BTreeMap<u8, String>, step: &Step) {
    match step {
        Step::Create {
            name,
            owners,
            finalizer,
            blocks,
        } => {
            let owners = owners.iter().filter(|one| *one != name);
            let of = |one: &u8| Some(owner(&format!("n{one}"), known.get(one)?, *blocks));
            let owners: Vec<Value> = owners.filter_map(of).collect();
            let finalizers = if *finalizer {
                json!(["ex.io/f"])
            } else {
                Value::Null
            };
            let object = json!({
                "apiVersion": "v1",
                "kind": "ConfigMap",
                "metadata": {"name": format!("n{name}"), "ownerReferences": owners, "finalizers": finalizers},
            });
            let made = server
                .registry
                .write(|tx| tx.create("configmaps", "default", object));
            if let Ok(made) = made {
                known.insert(*name, made["metadata"]["uid"].as_str().unwrap().to_owned());
            }
        }
        Step::Delete { name, policy } => {
            let policy = match policy {
                0 => Propagation::Background,
                1 => Propagation::Foreground,
                _ => Propagation::Orphan,
            };
            let name = format!("n{name}");
            let _gone = server
                .registry
                .write(|tx| tx.delete("configmaps", "default", &name, Some(policy)));
        }
        Step::Free { name } => {
            let name = format!("n{name}");
            if find(server, &name).is_some() {
                change(server, &name, |metadata| {
                    if let Value::Array(list) = &mut metadata["finalizers"] {
                        list.retain(|one| one != "ex.io/f");
                    }
                });
            }
        }
    }
}

/// Returns the work that a real collector still has to do.
fn unfinished(server: &ApiServer) -> Vec<String> {
    let all = server
        .registry
        .write(|tx| tx.list("configmaps", Some("default")));
    let uids: Vec<&Value> = all.iter().map(|one| &one["metadata"]["uid"]).collect();
    let mut found = Vec::new();
    for object in &all {
        let metadata = &object["metadata"];
        let name = metadata["name"].as_str().unwrap();
        let owners = metadata["ownerReferences"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        let deleting = metadata["deletionTimestamp"].is_string();
        let absent = owners
            .iter()
            .filter(|owner| !uids.contains(&&owner["uid"]))
            .count();
        if !deleting && absent > 0 {
            found.push(format!(
                "{name} has {absent} absent owners of {}",
                owners.len()
            ));
        }
        let finalizers = metadata["finalizers"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        if deleting && finalizers.is_empty() {
            found.push(format!("{name} should be gone"));
        }
        if deleting && finalizers.contains(&json!("orphan")) {
            found.push(format!("{name} has not let its dependents go"));
        }
        let blocks =
            |one: &&std::sync::Arc<Value>| super::blocks(one, metadata["uid"].as_str().unwrap());
        let blocked = all.iter().filter(blocks).count();
        if deleting && finalizers.contains(&json!("foregroundDeletion")) && blocked == 0 {
            found.push(format!("{name} waits for nothing"));
        }
    }
    found
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn no_history_leaves_what_a_real_collector_would_take(steps in steps()) {
        let server = server();
        let mut known = BTreeMap::new();
        for step in &steps {
            take(&server, &mut known, step);
            prop_assert_eq!(unfinished(&server), Vec::<String>::new(), "after {:?}", step);
        }
    }
}

#[test]
fn a_circle_of_owners_that_block_each_other_goes() {
    let server = server();
    create(&server, "a", &[]);
    create(&server, "b", &["a"]);
    create(&server, "c", &["b"]);
    let last = uid(&server, "c");
    change(&server, "a", |metadata| {
        metadata["ownerReferences"] = json!([owner("c", &last, true)]);
    });
    delete(&server, "a", Propagation::Foreground);
    for name in ["a", "b", "c"] {
        assert_eq!(find(&server, name), None);
    }
}
