//! Finds fields that the operator sent and that the server did not keep.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::Value;

/// Returns the paths of fields in `sent` that are missing in `kept`, or that the server warned about.
///
/// Compares maps, and lists of the same length by item. In a list of another length, other managers
/// have items too. An empty value does not count, because a server may omit it.
pub(super) fn find_pruned_fields(sent: &Value, kept: &Value, warnings: &[String]) -> Vec<String> {
    let mut dropped: BTreeSet<String> = warnings.iter().filter_map(|w| unknown_field(w)).collect();
    let mut path = String::new();
    collect_missing(sent, kept, &mut path, &mut dropped);
    dropped.into_iter().collect()
}

/// Returns the field of the warning `unknown field "spec.x"`.
pub fn unknown_field(warning: &str) -> Option<String> {
    let (_, rest) = warning.split_once("unknown field \"")?;
    let (field, _) = rest.split_once('"')?;
    Some(field.to_owned())
}

fn collect_missing(sent: &Value, kept: &Value, path: &mut String, dropped: &mut BTreeSet<String>) {
    let length = path.len();
    match (sent, kept) {
        (Value::Object(sent), Value::Object(kept)) => {
            for (name, value) in sent {
                if length > 0 {
                    path.push('.');
                }
                path.push_str(name);
                match kept.get(name) {
                    Some(kept) => collect_missing(value, kept, path, dropped),
                    None if is_blank(value) => {}
                    None => {
                        dropped.insert(path.clone());
                    }
                }
                path.truncate(length);
            }
        }
        (Value::Array(sent), Value::Array(kept)) if sent.len() == kept.len() => {
            for (index, (sent, kept)) in sent.iter().zip(kept).enumerate() {
                let _ = write!(path, "[{index}]");
                collect_missing(sent, kept, path, dropped);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

/// Returns whether Go's `omitempty` omits the value.
fn is_blank(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Bool(yes) => !yes,
        Value::Number(number) => number.as_f64() == Some(0.0),
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.iter().all(is_blank),
        Value::Object(fields) => fields.values().all(is_blank),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_that_is_not_kept_is_named() {
        let sent = json!({"spec": {"a": 1, "b": {"c": 2}, "list": [{"d": 3}]}});
        let kept = json!({"spec": {"a": 1, "b": {}, "list": [{"e": 3}]}});
        assert_eq!(
            find_pruned_fields(&sent, &kept, &[]),
            ["spec.b.c", "spec.list[0].d"]
        );
    }

    #[test]
    fn a_warning_names_its_field_once() {
        let warnings = [
            "unknown field \"spec.x\"".to_owned(),
            "deprecated".to_owned(),
        ];
        let sent = json!({"spec": {"x": 1}});
        assert_eq!(
            find_pruned_fields(&sent, &json!({"spec": {}}), &warnings),
            ["spec.x"]
        );
    }

    #[test]
    fn blanks_and_lists_shared_with_others_are_not_missed() {
        let sent = json!({"annotations": {}, "zero": 0, "no": false, "ports": [{"p": 1}]});
        let kept = json!({"ports": [{"other": 1}, {"p": 1}]});
        assert!(find_pruned_fields(&sent, &kept, &[]).is_empty());
    }
}
