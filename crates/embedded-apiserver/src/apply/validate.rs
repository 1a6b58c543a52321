//! Validates an applied configuration against its type, with the checks and messages of
//! structured-merge-diff.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{
    element::Element,
    shape::{MatchedType, item_key},
};
use crate::{
    go,
    schema::{
        Type,
        node::{List, Map, Relation, Scalar},
    },
};

/// Returns all errors as one text.
pub(super) fn validate(
    place: Type<'_>,
    value: &Value,
    duplicates_allowed: bool,
) -> Result<(), String> {
    let mut walk = Validator {
        path: String::new(),
        errors: Vec::new(),
        duplicates_allowed,
    };
    walk.value(Some(place), value);
    match walk.errors.as_slice() {
        [] => Ok(()),
        [one] => Err(one.clone()),
        several => Err(format!("errors:\n  {}", several.join("\n  "))),
    }
}

struct Validator {
    path: String,
    errors: Vec<String>,
    duplicates_allowed: bool,
}

impl Validator {
    fn error(&mut self, text: &str) {
        let separator = if self.path.is_empty() { "" } else { ": " };
        self.errors.push(format!("{}{separator}{text}", self.path));
    }

    fn value(&mut self, place: Option<Type<'_>>, value: &Value) {
        let Some((place, shape)) =
            place.and_then(|at| Some((at, MatchedType::select(at, Some(value))?)))
        else {
            return self.error("schema error: invalid atom: inlined");
        };
        match shape {
            MatchedType::Map(map) => self.map(place, map, value),
            MatchedType::Scalar(scalar) => self.scalar(scalar, value),
            MatchedType::List(list) => self.list(place, list, value),
        }
    }

    fn scalar(&mut self, scalar: Scalar, value: &Value) {
        let fits = match scalar {
            Scalar::Numeric => value.is_number(),
            Scalar::String => value.is_string(),
            Scalar::Boolean => value.is_boolean(),
            Scalar::Untyped => !value.is_array() && !value.is_object(),
        };
        if fits || value.is_null() {
            return;
        }
        let text = match scalar {
            Scalar::Numeric => {
                format!(
                    "expected numeric (int or float), got {}",
                    go::type_name(value)
                )
            }
            Scalar::String => format!(
                "expected string, got &value.valueUnstructured{{Value:{}}}",
                go::literal(value)
            ),
            Scalar::Boolean => format!("expected boolean, got &{{{}}}", go::plain(value)),
            Scalar::Untyped => format!("expected any scalar, got &{{{}}}", go::plain(value)),
        };
        self.error(&text);
    }

    fn map(&mut self, place: Type<'_>, map: &Map, value: &Value) {
        let fields = match value {
            Value::Object(fields) => fields,
            Value::Null => return,
            _ => return self.error(&format!("expected map, got &{{{}}}", go::plain(value))),
        };
        for (name, field) in fields {
            let length = self.path.len();
            self.path.push('.');
            self.path.push_str(name);
            let Some(id) = map.child(name) else {
                self.error("field not declared in schema");
                self.path.truncate(length);
                return;
            };
            self.value(Some(place.at(id)), field);
            self.path.truncate(length);
        }
    }

    fn list(&mut self, place: Type<'_>, list: &List, value: &Value) {
        let items = match value {
            Value::Array(items) => items,
            Value::Null => return,
            _ => return self.error(&format!("expected list, got &{{{}}}", go::plain(value))),
        };
        let mut seen = BTreeSet::new();
        for (index, item) in items.iter().enumerate() {
            let step = if list.relation == Relation::Atomic {
                Element::Index(index)
            } else {
                match item_key(place, list, item) {
                    Ok(step) => step,
                    Err(text) => return self.error(&format!("element {index}: {text}")),
                }
            };
            let length = self.path.len();
            let text = step.to_string();
            if list.relation != Relation::Atomic && !seen.insert(step) && !self.duplicates_allowed {
                self.error(&format!("duplicate entries for key {text}"));
            }
            self.path.push_str(&text);
            self.value(Some(place.at(list.items)), item);
            self.path.truncate(length);
        }
    }
}
