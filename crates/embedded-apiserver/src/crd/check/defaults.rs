//! Checks that defaults match their schemas.

use serde_json::Value;

use crate::crd::rules::Rules;
use crate::crd::structural::Structural;
use crate::crd::verdict::ValidationResult;
use crate::crd::{embedded, prune, value};
use crate::error::FieldError;

/// Returns the errors of the defaults in a schema.
pub(super) fn errors(schema: &Structural, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    node(schema, true, path, &mut errors);
    errors
}

fn node(schema: &Structural, is_resource: bool, path: &str, errors: &mut Vec<FieldError>) {
    if let Some(default) = &schema.default {
        errors.extend(one(
            default,
            schema,
            is_resource,
            &format!("{path}.default"),
        ));
    }
    if let Some(items) = &schema.items {
        node(items, items.embedded, &format!("{path}.items"), errors);
    }
    // Additional properties have no names in the schema, so their defaults are not checked.
    for (name, property) in &schema.properties {
        let path = format!("{path}.properties[{name}]");
        node(property, property.embedded, &path, errors);
    }
}

fn one(default: &Value, schema: &Structural, is_resource: bool, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut pruned = default.clone();
    prune::value(&mut pruned, schema, is_resource);
    if pruned != *default {
        errors.push(FieldError::invalid(
            path,
            default.clone(),
            "must not have unknown fields",
        ));
    }
    if let Err(error) = embedded::decode_value(&mut pruned, schema, is_resource, path) {
        errors.push(error);
        return errors;
    }
    let embedded = embedded::value_errors(default, schema, is_resource, path);
    if !embedded.is_empty() {
        errors.extend(embedded);
        return errors;
    }
    let wrong = value::errors(default, None, schema, path);
    if !wrong.is_empty() {
        errors.extend(wrong);
        return errors;
    }
    if let Some(rules) = Rules::of_value(schema) {
        // First, the rules check the default as a new value. Then rules that compare with the old value check
        // it as an unchanged value.
        let mut verdict = ValidationResult::default();
        rules.run(default, None, schema, path, &mut verdict);
        if verdict.errors.is_empty() {
            rules.run(default, Some(default), schema, path, &mut verdict);
        }
        errors.extend(verdict.errors);
    }
    errors
}
