//! Tests of managed fields after applies and updates, against steps of the real server.

use std::collections::BTreeSet;

use serde_json::json;

use super::*;
use crate::schema::builtin::unpack;

mod laws;

/// Requests to a real server, each with the previous object and the response.
static RECORDED: &[u8] = include_bytes!("tests/recorded.json.gz");

fn schema_of(recorded: &Value, step: &Value) -> Schema {
    let text = |name: &str| step[name].as_str().unwrap();
    match text("group") {
        "smd.io" => Schema::custom(&recorded["custom"]),
        group => Schema::builtin(group, text("version"), text("kind")).unwrap(),
    }
}

/// Returns the newest time that the step wrote to `managedFields`.
fn now(step: &Value) -> String {
    let times = |object: &Value| -> BTreeSet<String> {
        let entries = object["metadata"]["managedFields"].as_array();
        let entries = entries.into_iter().flatten();
        entries
            .filter_map(|entry| entry["time"].as_str().map(ToOwned::to_owned))
            .collect()
    };
    let before = times(&step["before"]);
    let new = times(&step["after"])
        .into_iter()
        .rfind(|time| !before.contains(time));
    // This time must not appear in a result for which the real server set no time.
    new.unwrap_or_else(|| "2049-01-01T00:00:00Z".to_owned())
}

fn without_server_fields(object: &Value) -> Value {
    let mut object = object.clone();
    if let Some(metadata) = object["metadata"].as_object_mut() {
        for name in [
            "uid",
            "resourceVersion",
            "creationTimestamp",
            "generation",
            "namespace",
        ] {
            metadata.remove(name);
        }
    }
    object
}

/// Returns an object as the caller stores it after an apply: without the reset fields, and with the one
/// default.
fn as_stored(object: &mut Value, live: Option<&Value>, subresource: &str) {
    if let Some(live) = live {
        let kept = if subresource == "status" {
            "spec"
        } else {
            "status"
        };
        match live.get(kept) {
            Some(value) => object[kept] = value.clone(),
            None => object.as_object_mut().map_or((), |object| {
                object.remove(kept);
            }),
        }
    }
    let ports = object
        .pointer_mut("/spec/ports")
        .and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        let port = port.as_object_mut().unwrap();
        port.entry("proto").or_insert_with(|| "TCP".into());
    }
}

/// Sorts the causes, because their order on the real server is random.
fn sort_causes(status: &mut Value) {
    if let Some(causes) = status["details"]["causes"].as_array_mut() {
        causes.sort_by_key(Value::to_string);
    }
}

/// Returns the response of this server and that of the real server.
fn replay(recorded: &Value, step: &Value) -> (Value, Value) {
    let text = |name: &str| step[name].as_str().unwrap();
    let schema = schema_of(recorded, step);
    let api_version = match text("group") {
        "" => text("version").to_owned(),
        group => format!("{group}/{}", text("version")),
    };
    let custom = text("group") == "smd.io";
    let other = if text("version") == "v1" {
        "smd.io/v2"
    } else {
        "smd.io/v1"
    };
    let versions = if custom {
        vec![(other, schema.clone())]
    } else {
        Vec::new()
    };
    let now = now(step);
    let reset: &[&[&str]] = if text("subresource").is_empty() {
        &[&["status"]]
    } else if custom {
        &[&["spec"]]
    } else {
        &[&["spec"], &["metadata", "labels"]]
    };
    let reset = if text("kind") == "ConfigMap" {
        &[]
    } else {
        reset
    };
    let manager = Manager {
        name: text("manager"),
        api_version: &api_version,
        kind: text("kind"),
        subresource: text("subresource"),
        now: &now,
        reset,
        versions: &versions,
    };
    let live = Some(&step["before"]).filter(|live| !live.is_null());
    let body = &step["body"];
    if text("op") == "apply" {
        let force = step["force"] == true;
        let mut ours = match apply(&schema, live, body, &manager, force) {
            Ok(object) => object,
            Err(error) => return (error.status(), step["after"].clone()),
        };
        as_stored(&mut ours, live, text("subresource"));
        return (ours, step["after"].clone());
    }
    let mut new = step["after"].clone();
    strip(&mut new);
    let brought = match text("op") {
        "json" => step["body"][0]["value"].clone(),
        _ => body["metadata"]["managedFields"].clone(),
    };
    if !brought.is_null() {
        new["metadata"]["managedFields"] = brought;
    }
    (update(&schema, live, new, &manager), step["after"].clone())
}

#[test]
fn each_recorded_write_gives_the_real_servers_answer() {
    let recorded = Value::Object(unpack(RECORDED));
    let mut wrong = Vec::new();
    let steps = recorded["steps"].as_array().unwrap();
    for step in steps {
        let (mut ours, mut theirs) = replay(&recorded, step);
        let title = step["title"].as_str().unwrap();
        let builtin = step["group"] != "smd.io";
        let failed = theirs["kind"] == "Status";
        if failed {
            for part in [&mut ours, &mut theirs] {
                sort_causes(part);
            }
        } else if builtin {
            ours = ours["metadata"]["managedFields"].take();
            theirs = theirs["metadata"]["managedFields"].take();
        } else {
            ours = without_server_fields(&ours);
            theirs = without_server_fields(&theirs);
        }
        if ours != theirs {
            wrong.push(format!("{title}\n  ours:   {ours}\n  theirs: {theirs}"));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {} differ:\n{}",
        wrong.len(),
        steps.len(),
        wrong.join("\n")
    );
}

#[test]
fn a_manager_that_names_itself_nothing_is_unknown() {
    let schema = Schema::builtin("", "v1", "ConfigMap").unwrap();
    let manager = Manager {
        name: "",
        api_version: "v1",
        kind: "ConfigMap",
        subresource: "",
        now: "2026-01-01T00:00:00Z",
        reset: &[],
        versions: &[],
    };
    let new = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}, "data": {"k": "v"}});
    let stored = update(&schema, None, new, &manager);
    assert_eq!(
        stored["metadata"]["managedFields"],
        json!([{"manager": "unknown", "operation": "Update", "apiVersion": "v1",
            "time": "2026-01-01T00:00:00Z", "fieldsType": "FieldsV1",
            "fieldsV1": {"f:data": {".": {}, "f:k": {}}}}])
    );
}

fn custom(properties: &Value) -> Schema {
    Schema::custom(&json!({
        "type": "object",
        "properties": {"spec": {"type": "object", "properties": properties}},
    }))
}

fn manager<'a>(name: &'a str, reset: &'a [&'a [&'a str]]) -> Manager<'a> {
    Manager {
        name,
        api_version: "ex.io/v1",
        kind: "Thing",
        subresource: "",
        now: "2026-01-01T00:00:00Z",
        reset,
        versions: &[],
    }
}

fn thing(spec: &Value) -> Value {
    json!({"apiVersion": "ex.io/v1", "kind": "Thing", "metadata": {"name": "a"}, "spec": spec})
}

fn owned(object: &Value, entry: usize) -> &Value {
    &object["metadata"]["managedFields"][entry]["fieldsV1"]
}

#[test]
fn fields_that_a_write_cannot_change_get_no_owner() {
    let schema = custom(&json!({"size": {"type": "integer"}}));
    let writer = manager("m", &[&["status"]]);
    let mut new = thing(&json!({"size": 1}));
    new["status"] = json!({"ready": true});
    let made = update(&schema, None, new.clone(), &writer);
    let own = json!({"f:spec": {".": {}, "f:size": {}}});
    assert_eq!(owned(&made, 0), &own);
    let mut changed = made.clone();
    changed["spec"]["size"] = json!(2);
    changed["status"] = json!({"ready": false});
    let changed = update(&schema, Some(&made), changed, &writer);
    assert_eq!(owned(&changed, 0), &own);
}

#[test]
fn a_set_with_duplicate_items_is_refused() {
    let schema = custom(&json!({"names": {
        "type": "array", "x-kubernetes-list-type": "set", "items": {"type": "string"},
    }}));
    let twice = thing(&json!({"names": ["a", "b", "a"]}));
    let refused = apply(&schema, None, &twice, &manager("m", &[]), false).unwrap_err();
    assert_eq!(refused.code, 500);
    assert!(
        refused.message.contains("duplicate entries for key"),
        "{}",
        refused.message
    );
}

#[test]
fn a_map_that_became_atomic_has_one_owner() {
    let map = |kind: &str| {
        custom(&json!({"map": {
            "type": "object", "x-kubernetes-map-type": kind,
            "additionalProperties": {"type": "string"},
        }}))
    };
    let granular = map("granular");
    let applied = |object: &Value, name: &str, key: &str| {
        let mut fields = json!({"map": {}});
        fields["map"][key] = json!("x");
        let live = Some(object).filter(|object| object.is_object());
        apply(&granular, live, &thing(&fields), &manager(name, &[]), false).unwrap()
    };
    let one = applied(&Value::Null, "one", "a");
    let both = applied(&one, "two", "b");
    assert_eq!(owned(&both, 0), &json!({"f:spec": {"f:map": {"f:a": {}}}}));
    // The schema of this write has an atomic map. The write itself changes another field.
    let mut labelled = both.clone();
    labelled["metadata"]["labels"] = json!({"l": "x"});
    let written = update(
        &map("atomic"),
        Some(&both),
        labelled,
        &manager("other", &[]),
    );
    for entry in [0, 1] {
        assert_eq!(owned(&written, entry), &json!({"f:spec": {"f:map": {}}}));
    }
}

#[test]
fn only_times_that_are_all_that_changed_are_taken_back() {
    let entry = |time: &str| {
        json!([{"manager": "m", "operation": "Update", "apiVersion": "v1", "time": time,
            "fieldsType": "FieldsV1", "fieldsV1": {"f:data": {}}}])
    };
    let object =
        |time: &str, data: i32| json!({"metadata": {"managedFields": entry(time)}, "data": data});
    let live = object("2026-01-01T00:00:00Z", 1);
    let mut same = object("2026-01-01T00:00:05Z", 1);
    ignore_times(&live, &mut same);
    assert_eq!(same, live);
    let mut other = object("2026-01-01T00:00:05Z", 2);
    ignore_times(&live, &mut other);
    assert_eq!(other, object("2026-01-01T00:00:05Z", 2));
    let bare = json!({"metadata": {"name": "a"}});
    let mut unowned = bare.clone();
    ignore_times(&bare, &mut unowned);
    assert_eq!(unowned, bare);
}
