//! The annotation of client-side apply: `kubectl` takes over its fields without a conflict.

use serde_json::Value;

use super::{compare::Comparison, fields::fields, set::PathSet, validate::validate};
use crate::go;
use crate::schema::{Schema, decode};

const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
/// The only manager that takes over fields.
pub(super) const MANAGER: &str = "kubectl";
/// The maximum size of all annotations of an object.
const MAX_BYTES: usize = 256 * 1024;

fn annotation(object: &Value) -> Option<&str> {
    let text = object["metadata"]["annotations"][ANNOTATION].as_str()?;
    (!text.is_empty()).then_some(text)
}

/// Returns the fields of the last client-side apply that have not changed since.
pub(super) fn taken_over(schema: &Schema, live: &Value, api_version: &str) -> Option<PathSet> {
    let last = decode::json(annotation(live)?.as_bytes()).ok()?.value;
    let root = schema.root();
    if last["apiVersion"] != api_version
        || validate(root, live, false).is_err()
        || validate(root, &last, false).is_err()
    {
        return None;
    }
    let changed = Comparison::compare(root, &last, live);
    let applied = fields(root, &last);
    Some(
        applied
            .difference(&changed.modified)
            .difference(&changed.added)
            .difference(&changed.removed),
    )
}

/// Updates the annotation, if the object has one, to the configuration that is applied now.
pub(super) fn renew(object: &mut Value, applied: &Value) {
    if annotation(object).is_none() {
        return;
    }
    let mut applied = applied.clone();
    if let Some(Value::Object(annotations)) = applied.pointer_mut("/metadata/annotations") {
        annotations.remove(ANNOTATION);
        if annotations.is_empty()
            && let Some(Value::Object(metadata)) = applied.get_mut("metadata")
        {
            metadata.remove("annotations");
        }
    }
    let Some(Value::Object(annotations)) = object.pointer_mut("/metadata/annotations") else {
        return;
    };
    annotations.insert(ANNOTATION.to_owned(), (go::json(&applied) + "\n").into());
    let sizes = annotations
        .iter()
        .map(|(key, value)| key.len() + value.as_str().map_or(0, str::len));
    if sizes.sum::<usize>() > MAX_BYTES {
        annotations.remove(ANNOTATION);
    }
}
