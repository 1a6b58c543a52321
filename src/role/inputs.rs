//! Validates values against the inputs of a role, and applies the defaults of the inputs.
//!
//! A null counts as missing. Fields without an input are left to the CRD.

use std::collections::BTreeMap;
use std::fmt;

use serde_json::{Map, Value};

use super::input::{Input, Kind};

/// A field that violates its input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Violation {
    /// Its path: `spec.ports[0].name`.
    pub field: String,
    /// A description of the valid values.
    pub expected: String,
    /// The value; `None` if it is missing.
    pub found: Option<String>,
}

/// `spec.size: expected an integer of at least 1, found "three"`
impl fmt::Display for Violation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let found = self.found.as_deref().unwrap_or("nothing");
        write!(
            f,
            "{}: expected {}, found {found}",
            self.field, self.expected
        )
    }
}

/// The maximum number of characters of an invalid value that a message shows.
const SHOWN: usize = 80;

/// Returns the violations in the order of the fields. `root` is the start of their paths.
pub fn violations(
    inputs: &BTreeMap<String, Input>,
    given: &Map<String, Value>,
    root: &str,
) -> Vec<Violation> {
    let mut found = Vec::new();
    check_fields(inputs, given, root, &mut found);
    found
}

fn check_fields(
    inputs: &BTreeMap<String, Input>,
    given: &Map<String, Value>,
    path: &str,
    found: &mut Vec<Violation>,
) {
    for (name, input) in inputs {
        let field = || format!("{path}.{name}");
        match given.get(name).filter(|value| !value.is_null()) {
            Some(value) => check(input, value, &field(), found),
            None if input.required && input.default.is_none() => found.push(Violation {
                field: field(),
                expected: expectation(input),
                found: None,
            }),
            None => {}
        }
    }
}

fn check(input: &Input, value: &Value, field: &str, found: &mut Vec<Violation>) {
    if !is_valid(input, value) {
        found.push(Violation {
            field: field.to_owned(),
            expected: expectation(input),
            found: Some(shown(value)),
        });
        return;
    }
    match value {
        Value::Object(map) => check_fields(&input.properties, map, field, found),
        Value::Array(items) => {
            let Some(input) = &input.items else { return };
            for (index, item) in items.iter().enumerate() {
                check(input, item, &format!("{field}[{index}]"), found);
            }
        }
        _ => {}
    }
}

fn is_valid(input: &Input, value: &Value) -> bool {
    let whole = value.as_f64().is_some_and(|number| number.fract() == 0.0);
    let fits = input.kind.fits(value) || input.kind == Kind::Integer && whole;
    let in_bounds = value.as_f64().is_none_or(|number| {
        input.minimum.is_none_or(|least| number >= least)
            && input.maximum.is_none_or(|most| number <= most)
    });
    fits && in_bounds && (input.choices.is_empty() || input.choices.contains(value))
}

/// `an integer from 1 to 10`, `one of "a", "b"`
fn expectation(input: &Input) -> String {
    if !input.choices.is_empty() {
        let choices: Vec<String> = input.choices.iter().map(shown).collect();
        return format!("one of {}", choices.join(", "));
    }
    let kind = match input.kind {
        Kind::String => "a string",
        Kind::Integer => "an integer",
        Kind::Number => "a number",
        Kind::Boolean => "true or false",
        Kind::Object => "a map",
        Kind::Array => "a list",
    };
    match (input.minimum, input.maximum) {
        (None, None) => kind.to_owned(),
        (Some(least), None) => format!("{kind} of at least {least}"),
        (None, Some(most)) => format!("{kind} of at most {most}"),
        (Some(least), Some(most)) => format!("{kind} from {least} to {most}"),
    }
}

fn shown(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

/// Returns the defaults as a map, including those within missing maps.
pub(super) fn defaults(inputs: &BTreeMap<String, Input>) -> Map<String, Value> {
    let defaults = inputs.iter().filter_map(|(name, input)| {
        let below = defaults(&input.properties);
        let value = match &input.default {
            Some(Value::Object(given)) => {
                let mut map = below;
                map.extend(given.clone());
                Some(map.into())
            }
            Some(value) => Some(value.clone()),
            None => (!below.is_empty()).then(|| below.into()),
        };
        Some((name.clone(), value?))
    });
    defaults.collect()
}

/// Adds the defaults of the items of lists, because a list replaces another one as a whole.
pub(super) fn fill_items(inputs: &BTreeMap<String, Input>, given: &mut Map<String, Value>) {
    for (name, input) in inputs {
        match given.get_mut(name) {
            Some(Value::Object(map)) => fill_items(&input.properties, map),
            Some(Value::Array(items)) => {
                let Some(input) = &input.items else { continue };
                let defaults = defaults(&input.properties);
                for item in items.iter_mut().filter_map(Value::as_object_mut) {
                    for (key, value) in &defaults {
                        item.entry(key).or_insert_with(|| value.clone());
                    }
                    fill_items(&input.properties, item);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::role::meta;

    fn inputs(text: &str) -> BTreeMap<String, Input> {
        let findings = crate::model::diagnostics::Diagnostics::new("meta/main.yaml");
        let inputs = meta::read(&format!("inputs: {text}"), &findings).inputs;
        assert_eq!(findings.into_vec(), []);
        inputs
    }

    const SITE: &str = "{
        size: {type: integer, minimum: 1, maximum: 10, default: 3},
        title: {type: string, required: true},
        tier: {type: string, enum: [free, paid]},
        ratio: {type: number, maximum: 1},
        tls: {type: object, properties: {enabled: {type: boolean, default: true},
                                         secret: {type: string, required: true}}},
        ports: {type: array, items: {type: object, properties: {
            port: {type: integer, required: true}, protocol: {type: string, default: TCP}}}},
    }";

    fn wrong(spec: &Value) -> Vec<String> {
        let found = violations(&inputs(SITE), spec.as_object().unwrap(), "spec");
        found.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn what_is_as_asked_has_no_violations() {
        let spec = json!({"title": "t", "size": 10, "tier": "paid", "ratio": 0.5, "other": [],
                          "tls": {"secret": "s"}, "ports": [{"port": 80.0}]});
        assert_eq!(wrong(&spec), [""; 0]);
        assert_eq!(
            wrong(&json!({"title": "t", "size": null, "tls": null})),
            [""; 0]
        );
    }

    #[test]
    fn each_violation_names_field_expectation_and_what_was_found() {
        let spec = json!({"size": 11, "tier": "gold", "ratio": "half", "tls": {"enabled": "yes"},
                          "ports": [{"port": 80}, {"port": 1.5}, 7]});
        assert_eq!(
            wrong(&spec),
            [
                "spec.ports[1].port: expected an integer, found 1.5",
                "spec.ports[2]: expected a map, found 7",
                "spec.ratio: expected a number of at most 1, found \"half\"",
                "spec.size: expected an integer from 1 to 10, found 11",
                "spec.tier: expected one of \"free\", \"paid\", found \"gold\"",
                "spec.title: expected a string, found nothing",
                "spec.tls.enabled: expected true or false, found \"yes\"",
                "spec.tls.secret: expected a string, found nothing",
            ]
        );
    }

    #[test]
    fn a_long_value_is_shown_in_part() {
        let said = wrong(&json!({"title": ["ä".repeat(1000)]})).remove(0);
        assert!(said.ends_with("ä…") && said.chars().count() < 140, "{said}");
    }

    #[test]
    fn defaults_reach_into_maps_and_the_items_of_lists() {
        let inputs = inputs(SITE);
        let expected = json!({"size": 3, "tls": {"enabled": true}});
        assert_eq!(Value::Object(defaults(&inputs)), expected);
        let mut spec = json!({"ports": [{"port": 80}, {"port": 53, "protocol": "UDP"}]});
        fill_items(&inputs, spec.as_object_mut().unwrap());
        let filled = json!([{"port": 80, "protocol": "TCP"}, {"port": 53, "protocol": "UDP"}]);
        assert_eq!(spec["ports"], filled);
    }
}
