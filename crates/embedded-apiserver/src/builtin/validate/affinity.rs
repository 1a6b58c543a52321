//! Validates affinities of Pods to nodes and to other Pods.
//!
//! <https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/#affinity-and-anti-affinity>

use serde_json::Value;

use super::super::path::{items, text};
use super::check::{Errors, each, join};
use super::selector::{self, Operators};
use crate::error::FieldError;
use crate::names;

const REQUIRED: &str = "requiredDuringSchedulingIgnoredDuringExecution";
const PREFERRED: &str = "preferredDuringSchedulingIgnoredDuringExecution";

/// A check of the term of an affinity.
type Check = fn(&mut Errors, &Value, &str);

pub(super) fn validate(errors: &mut Errors, affinity: &Value, path: &str) {
    validate_nodes(
        errors,
        &affinity["nodeAffinity"],
        &join(path, "nodeAffinity"),
    );
    for kind in ["podAffinity", "podAntiAffinity"] {
        let (affinity, path) = (&affinity[kind], join(path, kind));
        for (at, term) in items(&affinity[REQUIRED]).iter().enumerate() {
            validate_pod_term(errors, term, &format!("{path}.{REQUIRED}[{at}]"));
        }
        weighted(
            errors,
            affinity,
            &path,
            "podAffinityTerm",
            validate_pod_term,
        );
    }
}

fn validate_nodes(errors: &mut Errors, affinity: &Value, path: &str) {
    let required = &affinity[REQUIRED];
    if required.is_object() {
        let path = format!("{path}.{REQUIRED}.nodeSelectorTerms");
        let terms = items(&required["nodeSelectorTerms"]);
        if terms.is_empty() {
            let detail = "must have at least one node selector term";
            errors.push(FieldError::required(path.as_str(), detail));
        }
        for (at, term) in terms.iter().enumerate() {
            validate_node_term(errors, term, &format!("{path}[{at}]"));
        }
    }
    weighted(errors, affinity, path, "preference", validate_node_term);
}

/// Validates the preferred terms, which have weights.
fn weighted(errors: &mut Errors, affinity: &Value, path: &str, term: &str, check: Check) {
    for (at, one) in items(&affinity[PREFERRED]).iter().enumerate() {
        let path = format!("{path}.{PREFERRED}[{at}]");
        let weight = one["weight"].as_i64().unwrap_or_default();
        if !(1..=100).contains(&weight) {
            let detail = "must be in the range 1-100";
            errors.push(FieldError::invalid(join(&path, "weight"), weight, detail));
        }
        check(errors, &one[term], &join(&path, term));
    }
}

fn validate_node_term(errors: &mut Errors, term: &Value, path: &str) {
    for (at, one) in items(&term["matchExpressions"]).iter().enumerate() {
        let path = format!("{path}.matchExpressions[{at}]");
        selector::requirement(errors, one, &path, Operators::OfNodes);
    }
    for (at, one) in items(&term["matchFields"]).iter().enumerate() {
        validate_field(errors, one, &format!("{path}.matchFields[{at}]"));
    }
}

/// Validates a requirement on the fields of a node. Only the name can be selected.
fn validate_field(errors: &mut Errors, requirement: &Value, path: &str) {
    let values = items(&requirement["values"]);
    match text(requirement, &["operator"]) {
        "In" | "NotIn" if values.len() == 1 => {}
        "In" | "NotIn" => {
            let detail = "must be only one value when `operator` is 'In' or 'NotIn' for node \
                          field selector";
            errors.push(FieldError::required(join(path, "values"), detail));
        }
        other => {
            let detail = "not a valid selector operator";
            errors.push(FieldError::invalid(join(path, "operator"), other, detail));
        }
    }
    let key = text(requirement, &["key"]);
    if key != "metadata.name" {
        let detail = "not a valid field selector key";
        errors.push(FieldError::invalid(join(path, "key"), key, detail));
        return;
    }
    for (at, value) in values.iter().filter_map(Value::as_str).enumerate() {
        let path = format!("{path}.values[{at}]");
        each(errors, &path, value, names::subdomain(value));
    }
}

fn validate_pod_term(errors: &mut Errors, term: &Value, path: &str) {
    for field in ["labelSelector", "namespaceSelector"] {
        errors.extend(selector::validate(&term[field], &join(path, field)));
    }
    for name in items(&term["namespaces"]).iter().filter_map(Value::as_str) {
        each(errors, &join(path, "namespace"), name, names::label(name));
    }
    let (key, path) = (text(term, &["topologyKey"]), join(path, "topologyKey"));
    if key.is_empty() {
        errors.push(FieldError::required(path.as_str(), "can not be empty"));
    }
    each(errors, &path, key, names::qualified(key));
}
