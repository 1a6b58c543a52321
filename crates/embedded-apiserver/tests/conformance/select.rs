//! Selects the parts of a response that a step compares.

use serde_json::{Map, Value};

use test_harness::requests::Step;

/// Keeps only the parts of the body that the step compares.
pub(crate) fn apply(step: &Step, body: &mut Value) {
    if !step.only.is_empty() {
        let kept = step.only.iter().map(|pointer| {
            let value = body
                .pointer(pointer)
                .cloned()
                .unwrap_or_else(|| "<absent>".into());
            (pointer.clone(), value)
        });
        *body = Value::Object(kept.collect::<Map<_, _>>());
    }
    for pointer in &step.ignore {
        at(body, &path(pointer), &mut |found| {
            *found = "<not compared>".into();
        });
    }
    for pointer in &step.unordered {
        at(body, &path(pointer), &mut sort);
    }
}

fn path(pointer: &str) -> Vec<String> {
    let parts = pointer.split('/').skip(1);
    parts
        .map(|part| part.replace("~1", "/").replace("~0", "~"))
        .collect()
}

/// Calls a function for each value at a path. `*` matches all fields or items.
fn at(value: &mut Value, path: &[String], found: &mut dyn FnMut(&mut Value)) {
    let Some((first, rest)) = path.split_first() else {
        return found(value);
    };
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter_mut().enumerate() {
                if first == "*" || *first == index.to_string() {
                    at(item, rest, found);
                }
            }
        }
        Value::Object(members) => {
            for (name, member) in members.iter_mut() {
                if first == "*" || first == name {
                    at(member, rest, found);
                }
            }
        }
        _ => {}
    }
}

/// Sorts the items of a list, or the parts of a text that a server joins with commas.
fn sort(value: &mut Value) {
    match value {
        Value::Array(items) => items.sort_by_cached_key(Value::to_string),
        Value::String(text) => {
            let mut parts: Vec<&str> = text.split([',', '[', ']', '\n']).map(str::trim).collect();
            parts.sort_unstable();
            *text = parts.join(", ");
        }
        _ => {}
    }
}
