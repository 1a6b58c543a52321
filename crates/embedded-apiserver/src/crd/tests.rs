//! Replays recorded responses of kube-apiserver 1.36.3.

use std::collections::BTreeSet;

use proptest::prelude::*;
use serde_json::{Value, json};

use super::Version;
use crate::error::FieldError;

/// The responses of kube-apiserver 1.36.3 to definitions and custom resources.
const VALUES: &str = include_str!("golden/values.json");
const COLUMNS: &str = include_str!("golden/columns.json");
const DEFINITIONS: &str = include_str!("golden/definitions.json");
const EXPRESSIONS: &str = include_str!("golden/expressions.json");
const UPDATES: &str = include_str!("golden/updates.json");
const RULES: &str = include_str!("golden/rules.json");
const NAMES: &str = include_str!("golden/names.json");
const RATCHET: &str = include_str!("golden/ratchet.json");

fn texts(errors: &[FieldError]) -> BTreeSet<String> {
    errors
        .iter()
        .map(|error| format!("{}: {}: {}", error.kind.reason(), error.path, error.body()))
        .collect()
}

/// Returns the causes of a response, without those of metadata, which other tests check. Keeps the causes of
/// a definition's name and approval.
fn recorded(answer: &Value) -> BTreeSet<String> {
    let causes = answer["causes"].as_array().into_iter().flatten();
    let part = |cause: &Value, key: &str| cause[key].as_str().unwrap_or_default().to_owned();
    let is_ours = |cause: &&Value| {
        let field = part(cause, "field");
        let of_metadata = field.starts_with("metadata.");
        let of_definition = field.starts_with("metadata.annotations[")
            || part(cause, "message").contains("must be spec.names.plural");
        !of_metadata || of_definition
    };
    causes
        .filter(is_ours)
        .map(|cause| {
            let [reason, field, message] =
                ["reason", "field", "message"].map(|key| part(cause, key));
            format!("{reason}: {field}: {message}")
        })
        .collect()
}

/// Removes whole schemas in the server's internal form from the errors.
fn comparable(errors: BTreeSet<String>) -> BTreeSet<String> {
    let without_schema = |error: String| match error.split_once(": only [") {
        Some((_, rest)) => format!("only [{rest}"),
        None => error,
    };
    errors.into_iter().map(without_schema).collect()
}

/// Returns the texts of the warnings of a response: `299 - "a", 299 - "b"`.
fn warned(answer: &Value) -> BTreeSet<String> {
    let text = answer["warnings"].as_str().unwrap_or_default();
    text.split("299 - ")
        .filter_map(|one| {
            one.trim_end_matches(", ")
                .strip_prefix('"')?
                .strip_suffix('"')
        })
        .map(|one| one.replace("\\\"", "\""))
        .collect()
}

/// Replays one request. Returns the difference, if any.
fn replay(version: &Version, step: &Value, stored: &mut Option<Value>) -> Option<String> {
    let mut object = step["object"].clone();
    let answer = &step["answer"];
    if answer["message"]
        .as_str()
        .is_some_and(|it| it.contains("is unrecognized"))
    {
        return None;
    }
    let unknown = match version.coerce(&mut object) {
        Ok(unknown) => unknown,
        Err(error) => {
            let wanted = json!([answer["code"], answer["message"]]);
            let got = json!([error.code, error.message]);
            return (wanted != got).then(|| format!("want {wanted}\n got {got}"));
        }
    };
    version.default(&mut object);
    let verdict = match (step["verb"].as_str(), stored.clone()) {
        (Some("status"), Some(mut live)) => {
            match object.get("status") {
                Some(status) => live["status"] = status.clone(),
                None => drop(live.as_object_mut().map(|it| it.remove("status"))),
            }
            object = live;
            version.validate_status(&object, stored.as_ref().unwrap_or(&Value::Null))
        }
        (Some("update"), Some(_)) => version.validate(&object, stored.as_ref()),
        _ => {
            if version.has_status() {
                object.as_object_mut().map(|it| it.remove("status"));
            }
            version.validate(&object, None)
        }
    };
    let (got, wanted) = (texts(&verdict.errors), recorded(answer));
    if got != wanted {
        return Some(format!("want {wanted:#?}\n got {got:#?}"));
    }
    let unknown = unknown.iter().map(|it| format!("unknown field \"{it}\""));
    let got: BTreeSet<String> = unknown.chain(verdict.warnings).collect();
    let wanted = warned(answer);
    if got != wanted {
        return Some(format!("want {wanted:#?}\n got {got:#?}"));
    }
    if answer["code"].as_u64() < Some(300) {
        super::canonical_numbers(&mut object);
        let mut wanted = answer["object"].clone();
        for it in [&mut object, &mut wanted] {
            it.as_object_mut().map(|it| it.remove("metadata"));
        }
        if object != wanted {
            return Some(format!("want {wanted}\n got {object}"));
        }
        *stored = Some(object);
    }
    None
}

fn replay_all(golden: &str) {
    let cases: Vec<Value> = serde_json::from_str(golden).expect("golden JSON");
    let mut differences = Vec::new();
    let mut steps = 0;
    for case in &cases {
        if case["answer"]["code"] != 201 {
            continue;
        }
        let mut stored = None;
        for step in case["steps"].as_array().expect("steps") {
            let name = step["version"].as_str().expect("a version");
            let version = Version::compile(&case["crd"], name).expect("the version");
            steps += 1;
            // The object was stored under an earlier schema.
            if let Some(old) = step.get("old") {
                stored = Some(old.clone());
            }
            if let Some(difference) = replay(&version, step, &mut stored) {
                differences.push(format!(
                    "{}: {}\n{difference}",
                    case["name"], step["object"]
                ));
            }
        }
    }
    assert!(
        differences.is_empty(),
        "{} of {steps}:\n{}",
        differences.len(),
        differences.join("\n\n")
    );
}

#[test]
fn values_are_refused_as_the_server_refuses_them() {
    replay_all(VALUES);
}

fn refuse_as_on_the_server(golden: &str) {
    let cases: Vec<Value> = serde_json::from_str(golden).expect("golden JSON");
    let mut differences = Vec::new();
    for case in &cases {
        let mut crd = case["crd"].clone();
        super::prepare(&mut crd, None);
        let got = comparable(texts(&super::validate(&crd, None)));
        let wanted = comparable(recorded(&case["answer"]));
        if got != wanted {
            differences.push(format!("{}: want {wanted:#?}\n got {got:#?}", case["name"]));
        }
        let (got, wanted) = (super::warnings(&crd, None), warned(&case["answer"]));
        if got.into_iter().collect::<BTreeSet<_>>() != wanted {
            differences.push(format!("{}: want {wanted:#?}", case["name"]));
        }
    }
    let count = cases.len();
    let differences = differences.join("\n\n");
    assert!(differences.is_empty(), "of {count}:\n{differences}");
}

#[test]
fn definitions_are_refused_as_on_the_server() {
    refuse_as_on_the_server(DEFINITIONS);
}

#[test]
fn expressions_are_refused_as_on_the_server() {
    refuse_as_on_the_server(EXPRESSIONS);
}

#[test]
fn definitions_are_updated_as_on_the_server() {
    let cases: Vec<Value> = serde_json::from_str(UPDATES).expect("golden JSON");
    for case in &cases {
        let (old, mut new) = (&case["old"], case["new"].clone());
        super::prepare(&mut new, Some(old));
        let errors = texts(&super::validate(&new, Some(old)));
        assert_eq!(errors, recorded(&case["answer"]), "{}", case["name"]);
        if errors.is_empty() {
            assert_eq!(new, case["answer"]["object"], "{}", case["name"]);
        }
    }
}

#[test]
fn names_are_accepted_as_on_the_server() {
    const NOW: &str = "2026-01-01T00:00:00Z";
    let story: Vec<Value> = serde_json::from_str(NAMES).expect("golden JSON");
    let mut others: Vec<Value> = Vec::new();
    for step in &story {
        let mut crd = step["crd"].clone();
        super::prepare(&mut crd, None);
        let group: Vec<&Value> = others.iter().collect();
        let mut status = super::names::accept(&crd, &group, NOW).expect("a new status");
        crd["status"] = status.clone();
        assert_eq!(super::names::accept(&crd, &group, "later"), None);
        for condition in status["conditions"].as_array_mut().expect("conditions") {
            let time = condition
                .as_object_mut()
                .and_then(|it| it.remove("lastTransitionTime"));
            assert_eq!(time, Some(NOW.into()));
        }
        assert_eq!(status, step["status"]);
        others.push(crd);
    }
}

#[test]
fn a_conflict_ends_when_the_other_definition_goes() {
    let story: Vec<Value> = serde_json::from_str(NAMES).expect("golden JSON");
    let [mut first, mut second] = [&story[0], &story[1]].map(|step| step["crd"].clone());
    super::prepare(&mut first, None);
    super::prepare(&mut second, None);
    first["status"] = super::names::accept(&first, &[], "1").expect("a status");
    second["status"] = super::names::accept(&second, &[&first], "1").expect("a status");
    assert!(!super::conditions::is_true(&second, "Established"));
    second["status"] = super::names::accept(&second, &[], "2").expect("a status");
    assert!(super::conditions::is_true(&second, "Established"));
    assert_eq!(
        second["status"]["acceptedNames"]["shortNames"],
        json!(["x", "q"])
    );
}

#[test]
fn columns_show_what_they_show_on_the_server() {
    let cases: Vec<Value> = serde_json::from_str(COLUMNS).expect("golden JSON");
    for case in &cases {
        let version = Version::compile(&case["crd"], "v1").expect("the version");
        for table in case["tables"].as_array().expect("tables") {
            let object = &table["object"];
            let now = object["metadata"]["creationTimestamp"]
                .as_str()
                .expect("a time");
            let now = now.parse().expect("a time");
            let columns = table["columns"].as_array().expect("columns");
            let cells = table["cells"].as_array().expect("cells");
            assert_eq!(
                version.columns().len() + 1,
                columns.len(),
                "{}",
                case["crd"]
            );
            for ((column, wanted), cell) in
                version.columns().iter().zip(&columns[1..]).zip(&cells[1..])
            {
                assert_eq!(column.heading.definition(), *wanted);
                assert_eq!(column.cell(object, now), *cell, "{:?}", column.heading);
            }
        }
    }
}

#[test]
fn rules_refuse_as_on_the_server() {
    replay_all(RULES);
}

#[test]
fn rules_see_names_whatever_the_schema_says_of_metadata() {
    let definition = |metadata: Value| {
        json!({"spec": {"group": "ex.io", "names": {"kind": "Thing"}, "versions": [{
            "name": "v1", "schema": {"openAPIV3Schema": {
                "type": "object",
                "properties": {"metadata": metadata},
                "x-kubernetes-validations": [
                    {"rule": "self.metadata.name.startsWith('a') && self.kind == 'Thing'"},
                ],
            }},
        }]}})
    };
    let object =
        |name: &str| json!({"apiVersion": "ex.io/v1", "kind": "Thing", "metadata": {"name": name}});
    for metadata in [
        json!({"type": "object"}),
        json!({"type": "object", "properties": {"name": {"type": "string", "maxLength": 9}}}),
    ] {
        let version = Version::compile(&definition(metadata), "v1").unwrap();
        assert!(version.validate(&object("abc"), None).errors.is_empty());
        let refused = version.validate(&object("bcd"), None).errors;
        assert!(refused[0].body().contains("failed rule"), "{refused:?}");
    }
}

#[test]
fn unchanged_invalid_values_are_tolerated() {
    replay_all(RATCHET);
}

/// Returns the definitions that the server accepted, and the objects that were sent to them.
fn accepted() -> Vec<(Version, Value)> {
    let mut all = Vec::new();
    for golden in [VALUES, RULES] {
        let cases: Vec<Value> = serde_json::from_str(golden).expect("golden JSON");
        for case in cases.iter().filter(|case| case["answer"]["code"] == 201) {
            for step in case["steps"].as_array().expect("steps") {
                let version = Version::compile(&case["crd"], "v1").expect("the version");
                all.push((version, step["object"].clone()));
            }
        }
    }
    all
}

/// Generates any JSON. The keys include the names in the schemas of the golden files.
fn json_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-5i64..15).prop_map(Value::from),
        (-5.0f64..5.0).prop_map(Value::from),
        "[a-c]{0,3}".prop_map(Value::from),
    ];
    let key = prop::sample::select(vec![
        "a",
        "b",
        "s",
        "m",
        "l",
        "k",
        "e",
        "d",
        "n",
        "sub",
        "deep",
        "x",
        "y",
        "p",
        "u",
        "apiVersion",
        "kind",
        "metadata",
        "one",
        "any",
        "all",
        "ios",
        "port",
        "proto",
        "labels",
        "name",
    ]);
    leaf.prop_recursive(4, 40, 6, move |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(key.clone(), inner, 0..6).prop_map(|fields| {
                let fields = fields
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value));
                Value::Object(fields.collect())
            }),
        ]
    })
}

/// Asserts that decoding and defaulting an object twice equals doing it once, and that a valid object stays
/// valid.
fn is_settled(version: &Version, mut object: Value) {
    if version.coerce(&mut object).is_err() {
        return;
    }
    let mut again = object.clone();
    let dropped = version.coerce(&mut again).expect("it was decoded");
    assert_eq!((&again, dropped.len()), (&object, 0));
    version.default(&mut object);
    let mut again = object.clone();
    version.default(&mut again);
    assert_eq!(again, object);
    let errors = version.validate(&object, None).errors;
    version.coerce(&mut again).expect("it was decoded");
    if errors.is_empty() {
        assert_eq!(again, object);
        assert_eq!(version.validate(&again, None).errors, []);
        assert_eq!(version.validate(&again, Some(&object)).errors, []);
    }
}

#[test]
fn objects_settle() {
    for (version, object) in accepted() {
        is_settled(&version, object);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn any_object_settles(spec in json_value(), status in json_value(), metadata in json_value()) {
        let cases: Vec<Value> = serde_json::from_str(VALUES).expect("golden JSON");
        for case in cases.iter().filter(|case| case["answer"]["code"] == 201) {
            let version = Version::compile(&case["crd"], "v1").expect("the version");
            let group = &case["crd"]["spec"]["group"];
            let group = group.as_str().expect("a group");
            is_settled(&version, json!({
                "apiVersion": format!("{group}/v1"),
                "kind": "Widget",
                "metadata": metadata,
                "spec": spec,
                "status": status,
            }));
        }
    }
}
