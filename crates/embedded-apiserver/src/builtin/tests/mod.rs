//! Tests of built-in kinds with responses of a real server.

use serde_json::{Value, json};

use super::*;

/// Returns the samples, and the objects that Kubernetes 1.36.3 returned for them.
fn recorded() -> Vec<(Value, Value)> {
    let samples = positioned_yaml::parse_all(include_str!("samples.yaml")).unwrap();
    let answers = include_str!("answers.json").lines();
    let answers = answers.map(|line| serde_json::from_str(line).unwrap());
    samples.into_iter().zip(answers).collect()
}

fn group_version_kind(object: &Value) -> (String, String, String) {
    let api_version = object["apiVersion"].as_str().unwrap();
    let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
    let kind = object["kind"].as_str().unwrap();
    (group.to_owned(), version.to_owned(), kind.to_owned())
}

/// Returns an object as the pure parts of the registry create it.
fn created(mut object: Value, answer: &Value) -> Value {
    let (group, version, kind) = group_version_kind(&object);
    for key in ["uid", "creationTimestamp"] {
        object["metadata"][key] = answer["metadata"][key].clone();
    }
    let now = answer["metadata"]["creationTimestamp"].as_str().unwrap();
    defaults(&group, &version, &kind, &mut object);
    prepare_for_create(&group, &version, &kind, &mut object, now);
    object
}

/// Returns an object without random and allocated fields.
fn comparable(object: &Value) -> Value {
    let text = object.to_string();
    let mut object: Value = match text.find("kube-api-access-") {
        Some(at) => serde_json::from_str(&text.replace(&text[at..at + 21], "kube-api-access-")),
        None => serde_json::from_str(&text),
    }
    .unwrap();
    if object["kind"] == "Service" {
        for field in ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"] {
            object["spec"].as_object_mut().unwrap().remove(field);
        }
    }
    object
}

#[test]
fn a_created_object_is_as_the_real_server_answers_it() {
    let mut different = Vec::new();
    for (sample, answer) in recorded() {
        let made = comparable(&created(sample, &answer));
        let answer = comparable(&answer);
        if made != answer {
            different.push(format!("{made:#}\nis not\n{answer:#}"));
        }
    }
    assert!(
        different.is_empty(),
        "{} differ: {}",
        different.len(),
        different.join("\n")
    );
}

#[test]
fn defaults_are_idempotent() {
    for (sample, answer) in recorded() {
        let (group, version, kind) = group_version_kind(&sample);
        let mut again = answer.clone();
        defaults(&group, &version, &kind, &mut again);
        assert_eq!(again, answer);
    }
}

#[test]
fn an_update_that_changes_nothing_keeps_the_generation() {
    for (_, answer) in recorded() {
        let (group, version, kind) = group_version_kind(&answer);
        let mut again = answer.clone();
        again["status"] = json!({"bogus": 1});
        prepare_for_update(&group, &version, &kind, &mut again, &answer);
        assert_eq!(again["metadata"], answer["metadata"], "{kind}");
    }
}

/// Returns the errors of the pure checks of the registry.
fn checked(object: &Value, old: Option<&Value>) -> Vec<String> {
    let (group, version, kind) = group_version_kind(object);
    let mut object = object.clone();
    defaults(&group, &version, &kind, &mut object);
    match old {
        None => {
            if object["metadata"]["uid"].is_null() {
                object["metadata"]["uid"] = json!("uid");
            }
            prepare_for_create(&group, &version, &kind, &mut object, "2026-01-01T00:00:00Z");
        }
        Some(old) => prepare_for_update(&group, &version, &kind, &mut object, old),
    }
    let namespaced = object["metadata"]["namespace"].is_string();
    let rule = metadata::name_rule(&group, &kind);
    let mut errors = metadata::validate(&object, old, namespaced, rule);
    errors.extend(validate(&group, &kind, &object, old));
    let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
    texts.sort();
    texts.dedup();
    texts
}

/// Compares the errors with the recorded causes of the responses to a POST, or to a PUT if there is an old
/// object.
#[test]
fn invalid_objects_are_refused_with_the_text_of_the_real_server() {
    let mut different = Vec::new();
    for line in include_str!("refusals.json").lines() {
        let mut case: Value = serde_json::from_str(line).unwrap();
        let old = case.get("old").cloned();
        let found = checked(&case["object"].take(), old.as_ref());
        let expected: Vec<String> = serde_json::from_value(case["causes"].take()).unwrap();
        if found != expected {
            different.push(format!(
                "{line:.300}\nfound {found:#?}\nexpected {expected:#?}"
            ));
        }
    }
    assert!(
        different.is_empty(),
        "{} differ:\n{}",
        different.len(),
        different.join("\n")
    );
}

#[test]
fn objects_that_the_real_server_accepts_are_accepted() {
    for (_, answer) in recorded() {
        assert_eq!(checked(&answer, None), [""; 0], "{answer}");
        assert_eq!(checked(&answer, Some(&answer)), [""; 0], "{answer}");
    }
}
