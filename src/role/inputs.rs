//! Validates values against the inputs of a role, and applies the defaults of the inputs.
//!
//! A null counts as missing. Fields without an input are left to the CRD.

use std::collections::BTreeMap;
use std::fmt;

use embedded_apiserver::string_checks::{self, SearchBudget};
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
    // The values come from a custom resource.
    let _searches = SearchBudget::begin();
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
    let in_size = match value {
        Value::String(text) => input.size.contains(text.chars().count()),
        Value::Array(items) => input.size.contains(items.len()),
        _ => true,
    };
    let text_fits = value.as_str().is_none_or(|text| {
        let pattern = input.pattern.as_ref();
        pattern.is_none_or(|pattern| pattern.regex.is_match(text) == Ok(true))
            && input
                .format
                .is_none_or(|format| string_checks::has_format(text, format))
    });
    let is_choice = input.choices.is_empty() || input.choices.iter().any(|it| is_same(it, value));
    fits && in_bounds && in_size && text_fits && is_choice
}

/// Compares as the API server does: 1 and 1.0 are the same number.
fn is_same(choice: &Value, value: &Value) -> bool {
    match (choice.as_f64(), value.as_f64()) {
        #[expect(clippy::float_cmp, reason = "a choice is one exact number")]
        (Some(choice), Some(value)) => choice == value,
        _ => choice == value,
    }
}

/// Returns why a default violates its input, if it does.
pub(super) fn invalid_default(input: &Input, default: &Value) -> Option<String> {
    let mut found = Vec::new();
    check(input, default, "default", &mut found);
    if let Some(violation) = found.first() {
        return Some(violation.to_string());
    }
    let unknown = unknown_field(input, default, "default")?;
    Some(format!("{unknown}: properties has no such field"))
}

/// Returns the path of a field that the input does not describe, although it describes others.
fn unknown_field(input: &Input, value: &Value, path: &str) -> Option<String> {
    match value {
        Value::Object(map) => map.iter().find_map(|(name, value)| {
            let path = format!("{path}.{name}");
            match input.properties.get(name) {
                Some(input) => unknown_field(input, value, &path),
                None => (!input.properties.is_empty()).then_some(path),
            }
        }),
        Value::Array(items) => {
            let input = input.items.as_ref()?;
            let mut items = items.iter().enumerate();
            items.find_map(|(index, item)| unknown_field(input, item, &format!("{path}[{index}]")))
        }
        _ => None,
    }
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
    let range = match (input.minimum, input.maximum) {
        (None, None) => String::new(),
        (Some(least), None) => format!(" of at least {least}"),
        (None, Some(most)) => format!(" of at most {most}"),
        (Some(least), Some(most)) => format!(" from {least} to {most}"),
    };
    let unit = if input.kind == Kind::String {
        "characters"
    } else {
        "items"
    };
    let size = match (input.size.least, input.size.most) {
        (None, None) => String::new(),
        (Some(least), None) => format!(" of at least {least} {unit}"),
        (None, Some(most)) => format!(" of at most {most} {unit}"),
        (Some(least), Some(most)) => format!(" of {least} to {most} {unit}"),
    };
    let format = input
        .format
        .map(|format| format!(" in the format {format}"));
    let pattern = input.pattern.as_ref();
    let pattern = pattern.map(|pattern| format!(" that matches {}", pattern.source));
    [format, pattern]
        .into_iter()
        .flatten()
        .fold(format!("{kind}{range}{size}"), |text, part| text + &part)
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
    fn valid_inputs_have_no_violations() {
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
    fn strings_and_lists_have_bounds_patterns_and_formats() {
        let inputs = inputs(
            "{name: {type: string, minLength: 2, maxLength: 3, pattern: '^[a-zä]+$'},
              ip: {type: string, format: ipv4}, ports: {type: array, minItems: 1},
              level: {type: number, enum: [1, 2.5]}}",
        );
        let wrong = |spec: Value| {
            let found = violations(&inputs, spec.as_object().unwrap(), "spec");
            let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
            texts.join("; ")
        };
        let valid = json!({"name": "äb", "ip": "10.0.0.1", "ports": [1], "level": 1.0});
        assert_eq!(wrong(valid), "");
        for (spec, expected) in [
            (
                json!({"name": "a"}),
                "spec.name: expected a string of 2 to 3 characters that matches ^[a-zä]+$, found \"a\"",
            ),
            (
                json!({"name": "A1"}),
                "spec.name: expected a string of 2 to 3 characters that matches ^[a-zä]+$, found \"A1\"",
            ),
            (
                json!({"ip": "::1"}),
                "spec.ip: expected a string in the format ipv4, found \"::1\"",
            ),
            (
                json!({"ports": []}),
                "spec.ports: expected a list of at least 1 items, found []",
            ),
            (
                json!({"level": 2}),
                "spec.level: expected one of 1, 2.5, found 2",
            ),
        ] {
            assert_eq!(wrong(spec), expected);
        }
    }

    #[test]
    fn inputs_that_no_crd_can_have_are_refused() {
        for (input, expected) in [
            ("{type: string, pattern: '('}", "error parsing regexp"),
            ("{type: string, format: ip}", "expected byte, cidr"),
            (
                "{type: string, minLength: 3, maxLength: 2}",
                "2 is less than minLength 3",
            ),
            (
                "{type: integer, minLength: 3}",
                "has no effect for the type integer",
            ),
            (
                "{type: object, enum: [{}]}",
                "has no effect for the type object",
            ),
            ("{type: string, enum: [a, a]}", "duplicate value \"a\""),
            (
                "{type: string, maxLength: 1, default: ab}",
                "default: expected a string of at most 1 characters, found \"ab\"",
            ),
            (
                "{type: object, properties: {a: {type: string}}, default: {b: c}}",
                "default.b: properties has no such field",
            ),
            (
                "{type: array, items: {type: string, immutable: true}}",
                "has no effect in the items of an array",
            ),
            (
                "{type: array, immutable: true}",
                "has no effect for the type array",
            ),
        ] {
            let findings = crate::model::diagnostics::Diagnostics::new("meta/main.yaml");
            meta::read(&format!("inputs: {{a: {input}}}"), &findings);
            let found = findings.into_vec();
            let texts: Vec<String> = found.iter().map(ToString::to_string).collect();
            assert!(
                texts.len() == 1 && texts[0].contains(expected),
                "{input}: {texts:?}"
            );
        }
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
