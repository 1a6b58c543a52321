//! Label selectors of objects: `matchLabels` and `matchExpressions`.

use std::collections::BTreeSet;

use serde_json::Value;

use super::query::{check_key, check_values, parse};
use super::selector::{LabelSelector, Operator, Requirement};

impl LabelSelector {
    /// Parses `matchLabels` and `matchExpressions`, a plain map of labels, or the text of a query.
    pub(crate) fn from_value(value: &Value) -> Result<Self, String> {
        let map = match value {
            Value::String(text) => return parse(text),
            Value::Object(map) => map,
            other => return Err(format!("expected a label selector, found {other}")),
        };
        let is_structured = |key: &String| key == "matchLabels" || key == "matchExpressions";
        if !map.keys().all(is_structured) {
            return Ok(Self::new(equalities(value)?));
        }
        let mut requirements = equalities(&value["matchLabels"])?;
        match &value["matchExpressions"] {
            Value::Null => {}
            Value::Array(expressions) => {
                for expression in expressions {
                    requirements.push(requirement(expression)?);
                }
            }
            other => return Err(format!("matchExpressions: expected a list, found {other}")),
        }
        Ok(Self::new(requirements))
    }
}

fn equalities(labels: &Value) -> Result<Vec<Requirement>, String> {
    let labels = match labels {
        Value::Null => return Ok(Vec::new()),
        Value::Object(labels) => labels,
        other => return Err(format!("expected a map of labels, found {other}")),
    };
    let equality = |(key, value): (&String, &Value)| match value.as_str() {
        Some(value) => checked(key, Operator::In, BTreeSet::from([value.to_owned()])),
        None => Err(format!("label {key}: expected a string, found {value}")),
    };
    labels.iter().map(equality).collect()
}

fn requirement(expression: &Value) -> Result<Requirement, String> {
    let key = expression["key"].as_str().unwrap_or_default();
    let operator = match expression["operator"].as_str().unwrap_or_default() {
        "In" => Operator::In,
        "NotIn" => Operator::NotIn,
        "Exists" => Operator::Exists,
        "DoesNotExist" => Operator::DoesNotExist,
        other => return Err(format!("{other:?} is not a valid label selector operator")),
    };
    let values = expression["values"].as_array().into_iter().flatten();
    let values: Option<BTreeSet<String>> = values
        .map(|value| value.as_str().map(str::to_owned))
        .collect();
    let values = values.ok_or_else(|| format!("label {key}: values must be strings"))?;
    checked(key, operator, values)
}

fn checked(key: &str, operator: Operator, values: BTreeSet<String>) -> Result<Requirement, String> {
    check_key(key)?;
    let takes_values = !matches!(operator, Operator::Exists | Operator::DoesNotExist);
    if takes_values {
        check_values(key, operator, &values)?;
    } else if !values.is_empty() {
        return Err("values set must be empty for exists and does not exist".to_owned());
    }
    Ok(Requirement {
        key: key.to_owned(),
        operator,
        values: values.into_iter().collect(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn selects(selector: &Value, labels: &Value) -> bool {
        let selector = LabelSelector::from_value(selector).unwrap();
        selector.matches(|key| labels[key].as_str())
    }

    #[test]
    fn every_requirement_counts() {
        let selector = json!({
            "matchLabels": {"app": "web"},
            "matchExpressions": [
                {"key": "tier", "operator": "In", "values": ["a", "b"]},
                {"key": "env", "operator": "NotIn", "values": ["test"]},
                {"key": "owner", "operator": "Exists"},
                {"key": "legacy", "operator": "DoesNotExist"},
            ],
        });
        let fits = json!({"app": "web", "tier": "b", "owner": "me"});
        assert!(selects(&selector, &fits));
        for (key, value) in [
            ("app", Some("db")),
            ("tier", Some("c")),
            ("env", Some("test")),
            ("owner", None),
            ("legacy", Some("")),
        ] {
            let mut labels = fits.clone();
            labels[key] = value.into();
            assert!(!selects(&selector, &labels), "{key}");
        }
        assert!(selects(&json!({}), &fits));
    }

    #[test]
    fn numbers_compare_as_integers() {
        assert!(selects(&json!("size>9"), &json!({"size": "10"})));
        assert!(!selects(&json!("size>9"), &json!({"size": "9"})));
        assert!(selects(&json!("size<10"), &json!({"size": "9"})));
        for labels in [json!({}), json!({"size": "large"})] {
            assert!(!selects(&json!("size>9"), &labels));
            assert!(!selects(&json!("size<9"), &labels));
        }
    }

    #[test]
    fn invalid_selectors_are_refused() {
        for invalid in [
            json!(7),
            json!({"app": 7}),
            json!({"matchLabels": []}),
            json!({"matchLabels": {"-": "a"}}),
            json!({"matchExpressions": {}}),
            json!({"matchExpressions": [{"key": "a", "operator": "Is"}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "In", "values": []}]}),
            json!({"matchExpressions": [{"key": "a", "operator": "Exists", "values": ["b"]}]}),
        ] {
            assert!(LabelSelector::from_value(&invalid).is_err(), "{invalid}");
        }
    }
}
