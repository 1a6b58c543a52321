//! Checks the rules of `x-kubernetes-validations`: their form, and whether they compile.
//!
//! The type check finds common mistakes only, unlike that of the real server.

use serde_json::Value;

use super::internal;
use super::scope::{Errors, Scope};
use crate::crd::rules::{self, Bounds, RuleContext, Wanted};
use crate::crd::structural::{Structural, flag, list, text};
use crate::error::FieldError;

const KEY: &str = "x-kubernetes-validations";
const REASONS: [&str; 4] = [
    "FieldValueDuplicate",
    "FieldValueForbidden",
    "FieldValueInvalid",
    "FieldValueRequired",
];

/// Checks the fields of rules other than the expressions.
pub(super) fn texts(schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for (index, rule) in list(schema, KEY).enumerate() {
        let path = format!("{path}.{KEY}[{index}]");
        source(rule, &path, errors);
        if let Some(expression) = text(rule, "messageExpression")
            && expression.trim().is_empty()
        {
            let why = "messageExpression must be non-empty if specified";
            errors.push(FieldError::required(
                format!("{path}.messageExpression"),
                why,
            ));
        }
        if let Some(reason) = rule["reason"].as_str().filter(|it| !REASONS.contains(it)) {
            errors.push(FieldError::not_supported(
                format!("{path}.reason"),
                reason,
                &REASONS,
            ));
        }
        if let Some(field) = text(rule, "fieldPath") {
            field_path(&field, schema, &format!("{path}.fieldPath"), errors);
        }
    }
}

/// Checks a rule and its message. Reports only the first error.
fn source(rule: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let expression = rule["rule"].as_str().unwrap_or_default().trim();
    let message = rule["message"].as_str().unwrap_or_default();
    let at_message = format!("{path}.message");
    if expression.is_empty() {
        errors.push(FieldError::required(
            format!("{path}.rule"),
            "rule is not specified",
        ));
    } else if !message.is_empty() && message.trim().is_empty() {
        errors.push(FieldError::invalid(
            at_message,
            message,
            "must be non-empty if specified",
        ));
    } else if has_lines(message.trim()) {
        errors.push(FieldError::invalid(
            at_message,
            message,
            "must not contain line breaks",
        ));
    } else if has_lines(expression) && message.trim().is_empty() {
        let why = "message must be specified if rule contains line breaks";
        errors.push(FieldError::required(at_message, why));
    }
}

fn field_path(field: &str, schema: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let mut refuse = |why: &str| errors.push(FieldError::invalid(path, field, why));
    if field.trim().is_empty() {
        refuse("must be non-empty if specified");
    }
    if has_lines(field) {
        refuse("must not contain line breaks");
    }
    if rules::find_field(field, &Structural::read(schema), true).is_err() {
        refuse("must be a valid path");
    }
}

fn has_lines(text: &str) -> bool {
    text.contains(['\n', '\r'])
}

/// Returns the error for an expression that does not compile. It shows the whole rule.
fn in_rule(path: String, rule: &Value, why: &str) -> FieldError {
    internal::invalid(path, &internal::rule(rule), why)
}

/// Checks the expressions of a schema.
pub(super) fn check(
    schema: &Value,
    is_resource: bool,
    path: &str,
    scope: Scope<'_>,
    found: &mut Errors,
) {
    if list(schema, KEY).next().is_none() {
        return;
    }
    let structure = Structural::read(schema);
    let bounds = Bounds::estimate(&structure, is_resource);
    let repeated = scope
        .times
        .unwrap_or_else(|| bounds.as_ref().map_or(1, Bounds::repeated));
    let Errors {
        rules: errors,
        costs,
        ..
    } = found;
    for (index, rule) in list(schema, KEY).enumerate() {
        let path = format!("{path}.{KEY}[{index}]");
        let source = text(rule, "rule").unwrap_or_default();
        let over = RuleContext {
            schema: &structure,
            bounds: bounds.as_ref(),
            is_resource,
            optional_old: flag(rule, "optionalOldSelf"),
        };
        let checked = rules::check(&source, over, Wanted::Bool);
        if let Ok(checked) = &checked {
            let cost = checked.cost.saturating_mul(repeated);
            costs.note("rule", format!("{path}.rule"), cost, errors);
        }
        if let Err(why) = &checked {
            errors.push(in_rule(format!("{path}.rule"), rule, why));
        }
        if let Some(message) = text(rule, "messageExpression") {
            let path = format!("{path}.messageExpression");
            match rules::check(&message, over, Wanted::String) {
                Ok(message) => costs.note("messageExpression", path, message.cost, errors),
                Err(why) => errors.push(in_rule(path, rule, &format!("messageExpression {why}"))),
            }
        }
        match (checked.map(|checked| checked.uses_old), scope.uncorrelated) {
            (Ok(true), Some(within)) => {
                let why = format!(
                    "oldSelf cannot be used on the uncorrelatable portion of the schema within \
                     {within}"
                );
                errors.push(FieldError::invalid(format!("{path}.rule"), source, why));
            }
            (Ok(false) | Err(_), _) if rule["optionalOldSelf"].is_boolean() => {
                let why = "may not be set if oldSelf is not used in rule";
                let value = rule["optionalOldSelf"].clone();
                errors.push(FieldError::invalid(
                    format!("{path}.optionalOldSelf"),
                    value,
                    why,
                ));
            }
            _ => {}
        }
    }
}
