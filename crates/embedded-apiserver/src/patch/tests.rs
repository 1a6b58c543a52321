//! Tests of JSON, merge and strategic merge patches with responses of the real server.

use serde_json::{Value, json};

use super::*;
use crate::schema::Schema;

fn patched(live: &Value, operation: &Value) -> Result<Value, u16> {
    json(live, &json!([operation])).map_err(|error| error.code)
}

#[test]
fn operations_do_what_the_real_server_does() {
    let live = json!({"a": 1, "l": ["x", "y"]});
    for (operation, expected) in [
        (
            json!({"op": "test", "path": "/nope", "value": null}),
            Ok(live.clone()),
        ),
        (json!({"op": "test", "path": "/a", "value": 1.0}), Err(422)),
        (json!({"op": "test", "path": "/a"}), Err(422)),
        (json!({"op": "remove", "path": "/nope"}), Err(422)),
        (
            json!({"op": "replace", "path": "/b", "value": 2}),
            Ok(json!({"a": 1, "b": 2, "l": ["x", "y"]})),
        ),
        (json!({"op": "bogus", "path": "/a"}), Err(422)),
        (
            json!({"op": "add", "path": "/l/-", "value": "z"}),
            Ok(json!({"a": 1, "l": ["x", "y", "z"]})),
        ),
        (
            json!({"op": "add", "path": "/l/-1", "value": "z"}),
            Ok(json!({"a": 1, "l": ["x", "y", "z"]})),
        ),
        (json!({"op": "add", "path": "/l/5", "value": "z"}), Err(422)),
        (
            json!({"op": "remove", "path": "/l/-1"}),
            Ok(json!({"a": 1, "l": ["x"]})),
        ),
        (
            json!({"op": "replace", "path": "/l/-1", "value": "q"}),
            Ok(json!({"a": 1, "l": ["x", "q"]})),
        ),
        (
            json!({"op": "copy", "from": "/l/0", "path": "/c"}),
            Ok(json!({"a": 1, "c": "x", "l": ["x", "y"]})),
        ),
        (
            json!({"op": "move", "from": "/nope", "path": "/c"}),
            Err(422),
        ),
        (json!({"op": "add", "path": "/x/y", "value": 1}), Err(422)),
        (json!({"op": "add", "path": "", "value": {}}), Err(422)),
        (
            json!({"op": "add", "path": "/a~1b", "value": 1}),
            Ok(json!({"a": 1, "a/b": 1, "l": ["x", "y"]})),
        ),
        (json!({"op": 5, "path": "/a"}), Err(400)),
        (json!(1), Err(400)),
    ] {
        assert_eq!(patched(&live, &operation), expected, "{operation}");
    }
}

#[test]
fn an_invalid_patch_is_refused() {
    assert_eq!(merge(&json!({}), &json!([])).unwrap_err().code, 400);
    assert_eq!(
        merge(&json!({}), &Value::Null).unwrap_err().message,
        "Invalid JSON Patch"
    );
    let many = Value::Array(vec![json!({"op": "add", "path": "/a", "value": 1}); 10_001]);
    assert_eq!(json(&json!({}), &many).unwrap_err().code, 413);
    assert_eq!(
        json(&json!({}), &json!({})).unwrap_err().message,
        "error decoding patch: json: cannot unmarshal object into Go value of type []handlers.jsonPatchOp"
    );
    assert_eq!(
        unknown_fields(&json!([{"op": "add", "foo": 1}])),
        ["json patch unknown field \"[0].foo\""]
    );
}

fn pod(spec: &Value) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}, "spec": spec})
}

fn merged(live: &Value, patch: &Value) -> Result<Value, String> {
    let schema = Schema::builtin("", "v1", "Pod").unwrap();
    let patched = strategic(&schema, &pod(live), &json!({ "spec": patch }));
    patched
        .map(|object| object["spec"].clone())
        .map_err(|error| format!("{} {}", error.code, error.message))
}

#[test]
fn lists_are_merged_by_key_with_new_items_first() {
    let live = json!({"containers": [{"name": "a", "image": "1"}, {"name": "b", "image": "2"}]});
    let patch = json!({"containers": [{"name": "b", "image": "3"}, {"name": "c", "image": "4"}]});
    assert_eq!(
        merged(&live, &patch).unwrap(),
        json!({"containers": [
            {"name": "a", "image": "1"}, {"name": "b", "image": "3"}, {"name": "c", "image": "4"}]})
    );
}

#[test]
fn directives_delete_replace_and_order() {
    let live = json!({"nodeSelector": {"x": "1"}, "containers": [{"name": "a", "args": ["1"]}, {"name": "b"}]});
    for (patch, expected) in [
        (
            json!({"containers": [{"name": "a", "$patch": "delete"}]}),
            json!({"nodeSelector": {"x": "1"}, "containers": [{"name": "b"}]}),
        ),
        (
            json!({"containers": [{"$patch": "replace"}, {"name": "c"}]}),
            json!({"nodeSelector": {"x": "1"}, "containers": [{"name": "c"}]}),
        ),
        (
            json!({"$setElementOrder/containers": [{"name": "b"}, {"name": "a"}],
                "containers": [{"name": "b", "image": "i"}]}),
            json!({"nodeSelector": {"x": "1"},
                "containers": [{"name": "b", "image": "i"}, {"name": "a", "args": ["1"]}]}),
        ),
        (
            json!({"nodeSelector": {"$patch": "replace", "y": "2"}}),
            json!({"nodeSelector": {"y": "2"},
                "containers": [{"name": "a", "args": ["1"]}, {"name": "b"}]}),
        ),
        (
            json!({"$retainKeys": ["containers"]}),
            json!({"containers": [{"name": "a", "args": ["1"]}, {"name": "b"}]}),
        ),
    ] {
        assert_eq!(merged(&live, &patch), Ok(expected), "{patch}");
    }
}

#[test]
fn lists_of_texts_are_merged_and_cut_as_sets() {
    let schema = Schema::builtin("", "v1", "Pod").unwrap();
    let live = json!({"metadata": {"finalizers": ["a/a", "b/b"]}});
    let patch = json!({"metadata": {"finalizers": ["c/c", "a/a"]}});
    let one = strategic(&schema, &live, &patch).unwrap();
    let mut finalizers: Vec<&str> = one["metadata"]["finalizers"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one.as_str().unwrap())
        .collect();
    finalizers.sort_unstable();
    assert_eq!(finalizers, ["a/a", "b/b", "c/c"]);
    let patch = json!({"metadata": {"$deleteFromPrimitiveList/finalizers": ["a/a"]}});
    let other = strategic(&schema, &live, &patch).unwrap();
    assert_eq!(other["metadata"]["finalizers"], json!(["b/b"]));
}

#[test]
fn wrong_directives_are_refused() {
    let live = json!({"containers": [{"name": "a"}]});
    let refused = |patch: Value| merged(&live, &patch).unwrap_err();
    assert_eq!(
        refused(json!({"containers": [{"image": "x"}]})),
        "500 map: map[image:x] does not contain declared merge key: name"
    );
    assert_eq!(
        refused(json!({"$retainKeys": ["a"], "containers": []})),
        "400 invalid patch format of retainKeys"
    );
    assert!(
        refused(json!({"$patch": "bogus"})).starts_with("500 unknown patch type: bogus in map:")
    );
}

#[test]
fn nulls_of_a_merge_patch_go_at_every_depth_of_what_is_new() {
    let patch = json!({"a": {"b": [null, {"c": null}], "d": null}, "l": null, "m": [{"x": null}]});
    assert_eq!(
        merge(&json!({"l": 1, "m": {}}), &patch).unwrap(),
        json!({"a": {"b": [null, {}]}, "m": [{"x": null}]})
    );
}

#[test]
fn a_patch_that_grows_or_nests_without_end_is_refused() {
    // Each step copies the result of all previous steps.
    let doubling = |steps: usize| {
        let path = |step| format!("/data/c{step}");
        let steps =
            (0..steps).map(|step| json!({"op": "copy", "from": "/data", "path": path(step)}));
        Value::Array(steps.collect())
    };
    let live = json!({"data": {"a": "0123456789abcdef"}});
    assert!(json(&live, &doubling(10)).is_ok());
    assert_eq!(json(&live, &doubling(60)).unwrap_err().code, 422);
    // Copying a value to its own innermost level doubles the depth.
    let mut path = "/a".to_owned();
    let mut steps = Vec::new();
    for _ in 0..15 {
        steps.push(json!({"op": "copy", "from": "/a", "path": format!("{path}/a")}));
        path = path.repeat(2);
    }
    let live = json!({"a": {}});
    assert!(json(&live, &json!(steps[..5])).is_ok());
    assert_eq!(json(&live, &json!(steps)).unwrap_err().code, 422);
}
