//! Finds the changes of a CRD that break existing custom resources or their clients.
//!
//! A change breaks if the API server refuses or prunes a value that it accepted, or no longer serves it. New optional
//! fields, wider bounds, changed defaults, descriptions and columns do not break.

use std::collections::BTreeSet;
use std::fmt;

use serde_json::{Map, Value};

/// A change that breaks, with the next step.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct BreakingChange {
    /// The place: `v1: spec.size`, or a field of the CRD.
    pub(crate) place: String,
    pub(crate) message: String,
    pub(crate) hint: &'static str,
}

impl fmt::Display for BreakingChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            place,
            message,
            hint,
        } = self;
        write!(f, "{place}: {message}\n  hint: {hint}")
    }
}

const KEEP_FIELD: &str =
    "keep the field, or add a version without it and migrate the objects to that version";
const KEEP_NAME: &str = "keep the field under its previous name until no object uses it";
const KEEP_VALUES: &str =
    "keep the previous values valid, and let the role call fail() for those it cannot serve";
const ADD_DEFAULT: &str = "give the field a default";
const NEW_KIND: &str = "define a new kind: this cannot change for existing objects";
const KEEP_VERSION: &str = "keep the version until status.storedVersions of the CRD does not list it and no client uses it";

/// Returns the changes from `old` to `new` that break.
pub(crate) fn breaking_changes(old: &Value, new: &Value) -> Vec<BreakingChange> {
    let mut comparison = Comparison::default();
    for pointer in [
        "/spec/group",
        "/spec/scope",
        "/spec/names/kind",
        "/spec/names/plural",
    ] {
        let (before, after) = (old.pointer(pointer), new.pointer(pointer));
        if before != after {
            let place = pointer[1..].replace('/', ".");
            let message = format!("changes from {} to {}", shown(before), shown(after));
            comparison.add(&place, message, NEW_KIND);
        }
    }
    for version in list(&old["spec"]["versions"]) {
        let name = version["name"].as_str().unwrap_or_default();
        let after = list(&new["spec"]["versions"])
            .iter()
            .find(|after| after["name"] == name);
        match after {
            Some(after) => comparison.version(name, version, after),
            None => comparison.add(name, "the version is removed", KEEP_VERSION),
        }
    }
    comparison.found
}

#[derive(Default)]
struct Comparison {
    found: Vec<BreakingChange>,
}

impl Comparison {
    fn add(&mut self, place: &str, message: impl Into<String>, hint: &'static str) {
        self.found.push(BreakingChange {
            place: place.trim_end_matches([':', ' ']).to_owned(),
            message: message.into(),
            hint,
        });
    }

    fn version(&mut self, name: &str, old: &Value, new: &Value) {
        if old["served"] == true && new["served"] != true {
            self.add(name, "the version is no longer served", KEEP_VERSION);
        }
        for subresource in ["status", "scale"] {
            let of = |version: &Value| version["subresources"][subresource].clone();
            if !of(old).is_null() && of(new).is_null() {
                let message = format!("the subresource {subresource} is removed");
                self.add(name, message, "keep the subresource");
            }
        }
        let schema = |version: &Value| version["schema"]["openAPIV3Schema"].clone();
        self.schema(&format!("{name}: "), &schema(old), &schema(new));
    }

    fn schema(&mut self, place: &str, old: &Value, new: &Value) {
        self.types(place, old, new);
        self.bounds(place, old, new);
        self.values(place, old, new);
        self.required(place, old, new);
        self.properties(place, old, new);
        self.shape(place, old, new);
        if !old["items"].is_null() && !new["items"].is_null() {
            self.schema(&format!("{place}[]"), &old["items"], &new["items"]);
        }
    }

    fn types(&mut self, place: &str, old: &Value, new: &Value) {
        let (before, after) = (types(old), types(new));
        if !before.is_subset(&after) {
            let message = format!(
                "the type changes from {} to {}",
                joined(&before),
                joined(&after)
            );
            self.add(place, message, KEEP_VALUES);
        }
        if old["nullable"] == true && new["nullable"] != true {
            self.add(place, "null is no longer valid", KEEP_VALUES);
        }
        let (before, after) = (&old["format"], &new["format"]);
        let widens = [("int32", "int64"), ("float", "double")]
            .iter()
            .any(|(from, to)| before == from && after == to);
        // Numbers have these ranges without a format too.
        let is_implied = matches!(after.as_str(), Some("int64" | "double"));
        let is_wider = after.is_null() || widens || is_implied && before.is_null();
        if before != after && !is_wider {
            let message = format!("the format changes to {after}");
            self.add(place, message, KEEP_VALUES);
        }
    }

    fn bounds(&mut self, place: &str, old: &Value, new: &Value) {
        for (key, is_minimum, exclusive) in [
            ("minimum", true, "exclusiveMinimum"),
            ("maximum", false, "exclusiveMaximum"),
            ("minLength", true, ""),
            ("maxLength", false, ""),
            ("minItems", true, ""),
            ("maxItems", false, ""),
            ("minProperties", true, ""),
            ("maxProperties", false, ""),
        ] {
            let Some(after) = new[key].as_f64() else {
                continue;
            };
            let narrows = old[key].as_f64().is_none_or(|before| {
                let excludes = after.total_cmp(&before).is_eq()
                    && new[exclusive] == true
                    && old[exclusive] != true;
                excludes
                    || if is_minimum {
                        after > before
                    } else {
                        after < before
                    }
            });
            // A minimum of 0 allows every length.
            let is_void = is_minimum && after == 0.0 && key != "minimum";
            if narrows && !is_void {
                let message = format!("{key} changes from {} to {after}", shown(old.get(key)));
                self.add(place, message, KEEP_VALUES);
            }
        }
        let (before, after) = (old["multipleOf"].as_f64(), new["multipleOf"].as_f64());
        if let Some(after) = after
            && before.is_none_or(|before| before % after != 0.0)
        {
            let message = format!("multipleOf changes to {after}");
            self.add(place, message, KEEP_VALUES);
        }
    }

    fn values(&mut self, place: &str, old: &Value, new: &Value) {
        if let Some(choices) = new["enum"].as_array() {
            let removed: Vec<String> = list(&old["enum"])
                .iter()
                .filter(|value| !choices.contains(value))
                .map(ToString::to_string)
                .collect();
            if old["enum"].is_null() {
                self.add(place, "the field gets an enum", KEEP_VALUES);
            } else if !removed.is_empty() {
                let message = format!("enum no longer contains {}", removed.join(", "));
                self.add(place, message, KEEP_VALUES);
            }
        }
        if !new["pattern"].is_null() && old["pattern"] != new["pattern"] {
            let message = format!("the pattern changes to {}", new["pattern"]);
            self.add(place, message, KEEP_VALUES);
        }
        for rule in list(&new["x-kubernetes-validations"]) {
            let is_old = list(&old["x-kubernetes-validations"])
                .iter()
                .any(|before| before["rule"] == rule["rule"]);
            if !is_old {
                let message = format!("the rule {} is new", rule["rule"]);
                self.add(place, message, KEEP_VALUES);
            }
        }
        for key in ["allOf", "anyOf", "oneOf", "not"] {
            if !new[key].is_null() && old[key] != new[key] {
                self.add(place, format!("{key} changes"), KEEP_VALUES);
            }
        }
    }

    /// A field that became required breaks if the API server does not fill it.
    fn required(&mut self, place: &str, old: &Value, new: &Value) {
        let must = |schema: &Value, name: &str| {
            list(&schema["required"]).iter().any(|it| it == name)
                && schema["properties"][name]["default"].is_null()
        };
        for name in list(&new["required"]).iter().filter_map(Value::as_str) {
            if must(new, name) && !must(old, name) {
                self.add(
                    &below(place, name),
                    "the field becomes required",
                    ADD_DEFAULT,
                );
            }
        }
    }

    fn properties(&mut self, place: &str, old: &Value, new: &Value) {
        let empty = Map::new();
        let fields = |schema: &'_ Value| schema["properties"].as_object().cloned();
        let before = fields(old).unwrap_or_default();
        let after = fields(new).unwrap_or(empty);
        let keeps_all = new["x-kubernetes-preserve-unknown-fields"] == true
            || new["additionalProperties"] == true;
        for (name, schema) in &before {
            let place = below(place, name);
            if let Some(now) = after.get(name) {
                self.schema(&place, schema, now);
            } else if new["additionalProperties"].is_object() {
                self.schema(&place, schema, &new["additionalProperties"]);
            } else if !keeps_all {
                let renamed = after
                    .iter()
                    .find(|(other, now)| !before.contains_key(*other) && is_alike(schema, now));
                match renamed {
                    Some((other, _)) => {
                        let message = format!("the field is renamed to {other}");
                        self.add(&place, message, KEEP_NAME);
                    }
                    None => self.add(&place, "the field is removed", KEEP_FIELD),
                }
            }
        }
    }

    /// Compares the keys of maps and lists that are not fields.
    fn shape(&mut self, place: &str, old: &Value, new: &Value) {
        let preserve = "x-kubernetes-preserve-unknown-fields";
        if old[preserve] == true && new[preserve] != true {
            self.add(place, "unknown fields are no longer kept", KEEP_FIELD);
        }
        let (before, after) = (&old["additionalProperties"], &new["additionalProperties"]);
        if before.is_object() && after.is_object() {
            self.schema(&below(place, "*"), before, after);
        } else if !before.is_null() && after.is_null() && new[preserve] != true {
            self.add(place, "other keys are no longer kept", KEEP_FIELD);
        }
        for key in ["x-kubernetes-list-type", "x-kubernetes-list-map-keys"] {
            let allows_less = !matches!(new[key].as_str(), Some("atomic"));
            if !new[key].is_null() && old[key] != new[key] && allows_less {
                self.add(place, format!("{key} changes to {}", new[key]), KEEP_VALUES);
            }
        }
        for key in ["x-kubernetes-embedded-resource", "uniqueItems"] {
            if new[key] == true && old[key] != true {
                self.add(place, format!("{key} is new"), KEEP_VALUES);
            }
        }
    }
}

/// Returns the types of a schema. A number can be an integer; a schema without a type accepts all.
fn types(schema: &Value) -> BTreeSet<&str> {
    if schema["x-kubernetes-int-or-string"] == true {
        return BTreeSet::from(["integer", "string"]);
    }
    match schema["type"].as_str() {
        Some("number") => BTreeSet::from(["integer", "number"]),
        Some(name) => BTreeSet::from([name]),
        None => BTreeSet::from(["array", "boolean", "integer", "number", "object", "string"]),
    }
}

fn joined(types: &BTreeSet<&str>) -> String {
    if types.len() > 2 {
        return "any".to_owned();
    }
    if types.contains("number") {
        return "number".to_owned();
    }
    types.iter().copied().collect::<Vec<_>>().join(" or ")
}

/// Returns true if two schemas differ in their texts at most.
fn is_alike(old: &Value, new: &Value) -> bool {
    let without_text = |schema: &Value| {
        let mut fields = schema.as_object().cloned().unwrap_or_default();
        fields.remove("description");
        fields.remove("default");
        fields
    };
    without_text(old) == without_text(new)
}

fn below(place: &str, name: &str) -> String {
    if place.ends_with(' ') {
        format!("{place}{name}")
    } else {
        format!("{place}.{name}")
    }
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}

fn shown(value: Option<&Value>) -> String {
    value.map_or_else(|| "none".to_owned(), ToString::to_string)
}

#[cfg(test)]
mod tests;
