//! Validates admission webhooks, which this server stores and never calls.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/extensible-admission-controllers/>

use serde_json::Value;

use super::super::path::{items, text};
use super::check::{Errors, join, one_of};
use super::selector;
use crate::error::FieldError;
use crate::names;

pub(super) fn validate(object: &Value) -> Errors {
    let mut errors = Vec::new();
    for (at, hook) in items(&object["webhooks"]).iter().enumerate() {
        validate_hook(&mut errors, hook, &format!("webhooks[{at}]"));
    }
    errors
}

fn validate_hook(errors: &mut Errors, hook: &Value, path: &str) {
    validate_name(errors, text(hook, &["name"]), join(path, "name"));
    validate_versions(errors, hook, &join(path, "admissionReviewVersions"));
    for (field, options) in [
        ("failurePolicy", ["Fail", "Ignore"]),
        ("matchPolicy", ["Equivalent", "Exact"]),
        ("sideEffects", ["None", "NoneOnDryRun"]),
    ] {
        one_of(errors, join(path, field), &hook[field], &options);
    }
    if hook["sideEffects"].is_null() {
        let detail = "must specify one of None, NoneOnDryRun";
        errors.push(FieldError::required(join(path, "sideEffects"), detail));
    }
    let timeout = &hook["timeoutSeconds"];
    if timeout
        .as_i64()
        .is_some_and(|seconds| !(1..=30).contains(&seconds))
    {
        let detail = "the timeout value must be between 1 and 30 seconds";
        let path = join(path, "timeoutSeconds");
        errors.push(FieldError::invalid(path, timeout.clone(), detail));
    }
    for field in ["namespaceSelector", "objectSelector"] {
        errors.extend(selector::validate(&hook[field], &join(path, field)));
    }
    let client = &hook["clientConfig"];
    if client["url"].is_null() == client["service"].is_null() {
        let detail = "exactly one of url or service is required";
        errors.push(FieldError::required(join(path, "clientConfig"), detail));
    }
    for (at, rule) in items(&hook["rules"]).iter().enumerate() {
        validate_rule(errors, rule, &format!("{path}.rules[{at}]"));
    }
}

fn validate_name(errors: &mut Errors, name: &str, path: String) {
    let reasons = names::subdomain(name);
    if name.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !reasons.is_empty() {
        errors.push(FieldError::invalid(path, name, reasons.join(",")));
    } else if name.split('.').count() < 3 {
        let detail = "should be a domain with at least three segments separated by dots";
        errors.push(FieldError::invalid(path, name, detail));
    }
}

fn validate_versions(errors: &mut Errors, hook: &Value, path: &str) {
    let versions = items(&hook["admissionReviewVersions"]);
    let known = |one: &Value| matches!(one.as_str(), Some("v1" | "v1beta1"));
    if versions.is_empty() {
        let detail = "must specify one of v1, v1beta1";
        errors.push(FieldError::required(path, detail));
    } else if !versions.iter().any(known) {
        let detail = "must include at least one of v1, v1beta1";
        let shown = hook["admissionReviewVersions"].clone();
        errors.push(FieldError::invalid(path, shown, detail));
    }
}

/// Checks the operations, groups, versions, resources and scope of a rule.
pub(crate) fn validate_rule(errors: &mut Errors, rule: &Value, path: &str) {
    for (field, what) in [
        ("operations", "operations"),
        ("apiGroups", "API groups"),
        ("apiVersions", "API versions"),
    ] {
        let list = items(&rule[field]);
        if list.is_empty() {
            errors.push(FieldError::required(join(path, field), ""));
        } else if list.len() > 1 && list.iter().any(|one| one == "*") {
            let detail = format!("if '*' is present, must not specify other {what}");
            errors.push(FieldError::invalid(
                join(path, field),
                rule[field].clone(),
                detail,
            ));
        }
    }
    for (at, operation) in items(&rule["operations"]).iter().enumerate() {
        let options = ["*", "CONNECT", "CREATE", "DELETE", "UPDATE"];
        one_of(
            errors,
            format!("{path}.operations[{at}]"),
            operation,
            &options,
        );
    }
    if items(&rule["resources"]).is_empty() {
        errors.push(FieldError::required(join(path, "resources"), ""));
    }
    let scopes = ["*", "Cluster", "Namespaced"];
    one_of(errors, join(path, "scope"), &rule["scope"], &scopes);
}
