//! RFC 6902, to tell whether a patch would change anything.

use serde_json::Value;

/// The value after a patch; `None` where a step fails or is not understood, which the server shall say.
pub(super) fn patched(value: &Value, patch: &Value) -> Option<Value> {
    let mut value = value.clone();
    for step in patch.as_array()? {
        apply(&mut value, step)?;
    }
    Some(value)
}

fn apply(value: &mut Value, step: &Value) -> Option<()> {
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
            let copied = value.pointer(step["from"].as_str()?)?.clone();
            add(value, path, copied)
        }
        _ => None,
    }
}

fn split(path: &str) -> Option<(&str, String)> {
    let (parent, last) = path.rsplit_once('/')?;
    Some((parent, last.replace("~1", "/").replace("~0", "~")))
}

fn add(value: &mut Value, path: &str, new: Value) -> Option<()> {
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
    fn each_step_does_what_the_standard_says() {
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
