//! Compares a value with an expected part of it, as chainsaw and kuttl do.
//!
//! A map can have more keys than expected. A list must have the expected number of items, and each must
//! match. A key that begins with `$` is a JSONPath query (RFC 9535); the values that it selects are compared
//! as a list. An expected null matches null and an absent field.

use std::fmt::{self, Write as _};

use jsonpath_rust::JsonPath;
use serde_json::{Map, Value};
use similar::TextDiff;

use crate::model::yaml;

/// Lines around a difference, as `diff -u` has them.
const CONTEXT: usize = 3;

/// A difference between a value and the expectation.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Mismatch {
    /// The path of the difference.
    pub(super) path: Vec<PathSegment>,
    /// The difference: `expected 3, found 2`.
    pub(super) message: String,
}

/// One segment of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PathSegment {
    Key(String),
    Index(usize),
}

/// Returns all differences.
pub(super) fn mismatches(expected: &Value, actual: &Value) -> Vec<Mismatch> {
    let mut found = Vec::new();
    compare(expected, Some(actual), &mut Vec::new(), &mut found);
    found
}

fn compare(
    expected: &Value,
    actual: Option<&Value>,
    path: &mut Vec<PathSegment>,
    found: &mut Vec<Mismatch>,
) {
    let mut differs = |what: String| {
        found.push(Mismatch {
            path: path.clone(),
            message: what,
        });
    };
    match (expected, actual) {
        (Value::Null, None | Some(Value::Null)) => {}
        (_, None) => differs(format!("expected {}, found nothing", brief(expected))),
        (Value::Object(fields), Some(whole @ Value::Object(_))) => {
            for (key, expected) in fields {
                path.push(PathSegment::Key(key.clone()));
                compare(expected, field(whole, key).as_ref(), path, found);
                path.pop();
            }
        }
        (Value::Array(expected), Some(Value::Array(actual))) => {
            if expected.len() != actual.len() {
                let what = format!("expected {} items, found {}", expected.len(), actual.len());
                differs(what);
                return;
            }
            for (index, (expected, actual)) in expected.iter().zip(actual).enumerate() {
                path.push(PathSegment::Index(index));
                compare(expected, Some(actual), path, found);
                path.pop();
            }
        }
        (expected, Some(actual)) if same(expected, actual) => {}
        (expected, Some(actual)) => {
            differs(format!(
                "expected {}, found {}",
                brief(expected),
                brief(actual)
            ));
        }
    }
}

/// Returns a field, or the list that a query selects.
fn field(whole: &Value, key: &str) -> Option<Value> {
    if is_query(key) {
        let selected = whole.query(key).unwrap_or_default();
        return Some(selected.into_iter().cloned().collect());
    }
    whole.get(key).cloned()
}

/// Returns whether a key is a JSONPath query.
pub(super) fn is_query(key: &str) -> bool {
    key.starts_with("$.") || key.starts_with("$[")
}

/// 1 and 1.0 are the same number.
fn same(expected: &Value, actual: &Value) -> bool {
    expected == actual
        || matches!((expected, actual), (Value::Number(a), Value::Number(b)) if a.as_f64() == b.as_f64())
}

/// Formats a value in one line.
pub(super) fn brief(value: &Value) -> String {
    match value {
        Value::Object(_) => "a map".to_owned(),
        Value::Array(items) if items.iter().any(|item| item.is_object() || item.is_array()) => {
            format!("a list of {}", items.len())
        }
        value => value.to_string(),
    }
}

/// Returns a unified diff of the expectation and the expected part of the value.
pub(super) fn difference(expected: &Value, actual: &Value) -> String {
    unified(expected, &projected(expected, actual))
}

/// Returns a unified diff of two values as YAML.
pub(super) fn unified(expected: &Value, actual: &Value) -> String {
    let [expected, actual] = [expected, actual].map(yaml::write);
    TextDiff::from_lines(&expected, &actual)
        .unified_diff()
        .context_radius(CONTEXT)
        .header("expected", "actual")
        .to_string()
}

/// Returns the part of a value that the expectation mentions.
fn projected(expected: &Value, actual: &Value) -> Value {
    match (expected, actual) {
        (Value::Object(fields), Value::Object(_)) => {
            let fields = fields.iter().filter_map(|(key, expected)| {
                let part = match field(actual, key) {
                    None if expected.is_null() => Value::Null,
                    part => projected(expected, &part?),
                };
                Some((key.clone(), part))
            });
            Value::Object(fields.collect::<Map<_, _>>())
        }
        (Value::Array(expected), Value::Array(actual)) if expected.len() == actual.len() => {
            let pairs = expected.iter().zip(actual);
            pairs
                .map(|(expected, actual)| projected(expected, actual))
                .collect()
        }
        (Value::Array(_), Value::Array(_)) => actual.clone(),
        (expected, actual) if same(expected, actual) => expected.clone(),
        _ => actual.clone(),
    }
}

/// `spec.containers[0].image: expected "a", found "b"`
impl fmt::Display for Mismatch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut path = String::new();
        for step in &self.path {
            // Writing to a string cannot fail.
            let _ = match step {
                PathSegment::Key(key) if path.is_empty() => write!(path, "{key}"),
                PathSegment::Key(key) => write!(path, ".{key}"),
                PathSegment::Index(index) => write!(path, "[{index}]"),
            };
        }
        if path.is_empty() {
            f.write_str(&self.message)
        } else {
            write!(f, "{path}: {}", self.message)
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn mismatch_texts(expected: &Value, actual: &Value) -> Vec<String> {
        let found = mismatches(expected, actual);
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_map_may_have_more_and_a_list_may_not() {
        let actual = json!({"a": 1, "b": {"c": [1, 2], "d": "x"}});
        assert!(mismatch_texts(&json!({"b": {"c": [1, 2]}}), &actual).is_empty());
        assert_eq!(
            mismatch_texts(&json!({"b": {"c": [1]}}), &actual),
            ["b.c: expected 1 items, found 2"]
        );
        assert_eq!(
            mismatch_texts(&json!({"b": {"c": [1, 3], "d": "y"}, "e": true}), &actual),
            [
                "b.c[1]: expected 3, found 2",
                "b.d: expected \"y\", found \"x\"",
                "e: expected true, found nothing",
            ]
        );
    }

    #[test]
    fn null_is_absence_and_numbers_are_numbers() {
        let actual = json!({"a": null, "n": 1});
        assert!(mismatch_texts(&json!({"a": null, "b": null, "n": 1.0}), &actual).is_empty());
        assert_eq!(
            mismatch_texts(&json!({"n": null}), &actual),
            ["n: expected null, found 1"]
        );
        assert_eq!(
            mismatch_texts(&json!({"n": "1"}), &actual),
            ["n: expected \"1\", found 1"]
        );
        assert_eq!(
            mismatch_texts(&json!({"n": {"x": 1}}), &actual),
            ["n: expected a map, found 1"]
        );
    }

    #[test]
    fn a_query_selects_a_list() {
        let status = json!({"conditions": [
            {"type": "Ready", "status": "False"}, {"type": "Other", "status": "True"},
        ]});
        let ready = |status: &str| json!({"$.conditions[?@.type=='Ready'].status": [status]});
        assert!(mismatch_texts(&ready("False"), &status).is_empty());
        assert_eq!(
            mismatch_texts(&ready("True"), &status),
            [r#"$.conditions[?@.type=='Ready'].status[0]: expected "True", found "False""#]
        );
        assert_eq!(mismatch_texts(&json!({"$.none": []}), &status), [""; 0]);
    }

    #[test]
    fn a_difference_shows_what_was_asked_for_only() {
        let expected = json!({"spec": {"replicas": 3, "paused": null}, "kind": "Deployment"});
        let actual = json!({
            "kind": "Deployment", "metadata": {"name": "a"},
            "spec": {"replicas": 2, "template": {}},
        });
        insta::assert_snapshot!(difference(&expected, &actual), @r"
        --- expected
        +++ actual
        @@ -1,4 +1,4 @@
         kind: Deployment
         spec:
           paused: null
        -  replicas: 3
        +  replicas: 2
        ");
    }
}
