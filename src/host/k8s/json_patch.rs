//! Applies JSON patches (RFC 6902), to find out if a patch changes an object.

use serde_json::Value;

/// The maximum number of operations in a patch, as in the API server.
const MAX_STEPS: usize = 10_000;
/// The maximum number of bytes that the `copy` operations of a patch add, as in the API server. Each
/// operation can double the size of the object.
const MAX_COPIED: usize = 3 << 20;
/// The maximum depth of a path. Values are dropped recursively, so that deeper values could overflow the stack.
const MAX_DEPTH: usize = 1000;

/// Returns the value after a patch, or `None` if an operation fails, is unknown or exceeds a limit. The
/// server then reports the error.
pub(super) fn patched(value: &Value, patch: &Value) -> Option<Value> {
    let steps = patch.as_array().filter(|steps| steps.len() <= MAX_STEPS)?;
    let mut value = value.clone();
    let mut budget = MAX_COPIED;
    for step in steps {
        apply(&mut value, step, &mut budget)?;
    }
    Some(value)
}

fn apply(value: &mut Value, step: &Value, budget: &mut usize) -> Option<()> {
    let path = step["path"].as_str()?;
    match step["op"].as_str()? {
        "test" => (value.pointer(path)? == step.get("value")?).then_some(()),
        "add" => add(value, path, step.get("value")?.clone()),
        "remove" => remove(value, path).map(|_| ()),
        "replace" => {
            *value.pointer_mut(path)? = step.get("value")?.clone();
            Some(())
        }
        "move" => {
            let moved = remove(value, step["from"].as_str()?)?;
            add(value, path, moved)
        }
        "copy" => {
            let copied = value.pointer(step["from"].as_str()?)?;
            *budget = budget.checked_sub(size(copied))?;
            let copied = copied.clone();
            add(value, path, copied)
        }
        _ => None,
    }
}

fn split(path: &str) -> Option<(&str, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

/// The bytes of a value, about as JSON.
fn size(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(size).sum(),
        Value::Object(fields) => fields
            .iter()
            .map(|(key, value)| key.len() + size(value))
            .sum(),
        Value::String(text) => text.len(),
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    };
    // Brackets, quotes, commas, or the digits of a number.
    inner + 4
}

fn depth(value: &Value) -> usize {
    match value {
        Value::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Value::Object(fields) => 1 + fields.values().map(depth).max().unwrap_or_default(),
        _ => 0,
    }
}

fn add(value: &mut Value, path: &str, new: Value) -> Option<()> {
    (path.matches('/').count() + depth(&new) <= MAX_DEPTH).then_some(())?;
    if path.is_empty() {
        *value = new;
        return Some(());
    }
    let (parent, last) = split(path)?;
    match value.pointer_mut(parent)? {
        Value::Object(fields) => {
            fields.insert(last, new);
        }
        Value::Array(items) if last == "-" => items.push(new),
        Value::Array(items) => {
            let index: usize = last.parse().ok()?;
            (index <= items.len()).then(|| items.insert(index, new))?;
        }
        _ => return None,
    }
    Some(())
}

fn remove(value: &mut Value, path: &str) -> Option<Value> {
    let (parent, last) = split(path)?;
    match value.pointer_mut(parent)? {
        Value::Object(fields) => fields.remove(&last),
        Value::Array(items) => {
            let index: usize = last.parse().ok()?;
            (index < items.len()).then(|| items.remove(index))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_patch_that_doubles_is_left_to_the_server() {
        let object = json!({"data": {"a": "0123456789abcdef"}});
        // Each step copies all that the one before made: 2^60 bytes after sixty.
        let doubling = |steps: usize| {
            let steps = (0..steps).map(
                |step| json!({"op": "copy", "from": "/data", "path": format!("/data/c{step}")}),
            );
            Value::Array(steps.collect())
        };
        assert!(patched(&object, &doubling(10)).is_some());
        assert_eq!(patched(&object, &doubling(60)), None);
        let step = json!({"op": "test", "path": "/data/a", "value": "0123456789abcdef"});
        let steps = |count| Value::Array(vec![step.clone(); count]);
        assert!(patched(&object, &steps(MAX_STEPS)).is_some());
        assert_eq!(patched(&object, &steps(MAX_STEPS + 1)), None);
    }

    #[test]
    fn a_patch_that_nests_without_end_is_left_to_the_server() {
        // Copying a value into its deepest place doubles the depth, at a few bytes a step.
        let mut steps = Vec::new();
        let mut path = "/a".to_owned();
        for _ in 0..15 {
            steps.push(json!({"op": "copy", "from": "/a", "path": format!("{path}/a")}));
            path = path.repeat(2);
        }
        let object = json!({"a": {}});
        assert!(patched(&object, &json!(steps[..5])).is_some());
        assert_eq!(patched(&object, &json!(steps)), None);
    }

    #[test]
    fn each_operation_follows_the_standard() {
        let object = json!({"a": {"b/c": [1, 2]}, "d": 3});
        let check = |steps: Value, expected: Option<Value>| {
            assert_eq!(patched(&object, &steps), expected, "{steps}");
        };
        check(
            json!([{"op": "test", "path": "/d", "value": 3}]),
            Some(object.clone()),
        );
        check(json!([{"op": "test", "path": "/d", "value": 4}]), None);
        check(
            json!([{"op": "add", "path": "/a/b~1c/-", "value": 3}, {"op": "remove", "path": "/d"}]),
            Some(json!({"a": {"b/c": [1, 2, 3]}})),
        );
        check(
            json!([{"op": "move", "from": "/d", "path": "/a/e"}]),
            Some(json!({"a": {"b/c": [1, 2], "e": 3}})),
        );
        check(
            json!([{"op": "copy", "from": "/d", "path": "/a/b~1c/0"}]),
            Some(json!({"a": {"b/c": [3, 1, 2]}, "d": 3})),
        );
        check(json!([{"op": "remove", "path": "/none"}]), None);
        check(json!([{"op": "dance", "path": "/d"}]), None);
    }
}
