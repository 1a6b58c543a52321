//! Validates Pods and Pod templates.

use serde_json::{Value, json};

use super::super::metadata::{validate_annotations, validate_labels};
use super::super::path::{items, text};
use super::check::{self, Errors, each, join, one_of};
use super::{affinity, container, volume};
use crate::error::FieldError;
use crate::names;

pub(super) fn validate(object: &Value, old: Option<&Value>) -> Errors {
    match old {
        None => validate_spec(&object["spec"], "spec"),
        Some(old) => validate_update(&object["spec"], &old["spec"]),
    }
}

/// Validates a Pod template: its labels, its annotations and its spec.
pub(super) fn validate_template(template: &Value, path: &str) -> Errors {
    let mut errors = validate_template_metadata(template, path);
    errors.extend(validate_spec(&template["spec"], &join(path, "spec")));
    errors
}

/// Validates the labels and annotations of a Pod template.
pub(super) fn validate_template_metadata(template: &Value, path: &str) -> Errors {
    let metadata = &template["metadata"];
    let path_of = |field| format!("{path}.metadata.{field}");
    let mut errors = validate_labels(&metadata["labels"], &path_of("labels"));
    let annotations = &metadata["annotations"];
    errors.extend(validate_annotations(annotations, &path_of("annotations")));
    errors
}

fn validate_spec(spec: &Value, path: &str) -> Errors {
    let mut errors = volume::validate(&spec["volumes"], &join(path, "volumes"));
    let volumes: Vec<&str> = items(&spec["volumes"])
        .iter()
        .map(|volume| text(volume, &["name"]))
        .collect();
    let containers = items(&spec["containers"]);
    if containers.is_empty() {
        errors.push(FieldError::required(join(path, "containers"), ""));
    }
    for list in ["containers", "initContainers"] {
        for (at, one) in items(&spec[list]).iter().enumerate() {
            let path = format!("{path}.{list}[{at}]");
            errors.extend(container::validate(
                one,
                &path,
                &volumes,
                list == "initContainers",
            ));
        }
        check::unique_names(&mut errors, &spec[list], &format!("{path}.{list}"));
    }
    for (at, one) in items(&spec["initContainers"]).iter().enumerate() {
        let name = text(one, &["name"]);
        if containers
            .iter()
            .any(|other| text(other, &["name"]) == name)
        {
            let path = format!("{path}.initContainers[{at}].name");
            errors.push(FieldError::duplicate(path, name));
        }
    }
    validate_scalars(&mut errors, spec, path);
    errors.extend(validate_labels(
        &json!(spec["nodeSelector"]),
        &join(path, "nodeSelector"),
    ));
    for (at, toleration) in items(&spec["tolerations"]).iter().enumerate() {
        validate_toleration(
            &mut errors,
            toleration,
            &format!("{path}.tolerations[{at}]"),
        );
    }
    for (at, spread) in items(&spec["topologySpreadConstraints"]).iter().enumerate() {
        validate_spread(
            &mut errors,
            spread,
            &format!("{path}.topologySpreadConstraints[{at}]"),
        );
    }
    affinity::validate(&mut errors, &spec["affinity"], &join(path, "affinity"));
    errors
}

/// A check that returns the reasons that a name is invalid.
type Rule = fn(&str) -> Vec<String>;

fn validate_scalars(errors: &mut Errors, spec: &Value, path: &str) {
    let policies = ["Always", "OnFailure", "Never"];
    one_of(
        errors,
        join(path, "restartPolicy"),
        &spec["restartPolicy"],
        &policies,
    );
    let policies = ["ClusterFirstWithHostNet", "ClusterFirst", "Default", "None"];
    one_of(
        errors,
        join(path, "dnsPolicy"),
        &spec["dnsPolicy"],
        &policies,
    );
    let most = i64::from(i32::MAX);
    let deadline = &spec["activeDeadlineSeconds"];
    if deadline
        .as_i64()
        .is_some_and(|seconds| !(1..=most).contains(&seconds))
    {
        let detail = format!("must be between 1 and {most}, inclusive");
        errors.push(FieldError::invalid(
            join(path, "activeDeadlineSeconds"),
            deadline.clone(),
            detail,
        ));
    }
    let named: [(&str, Rule); 6] = [
        ("serviceAccountName", names::subdomain),
        ("nodeName", names::subdomain),
        ("hostname", names::label),
        ("subdomain", names::label),
        ("priorityClassName", names::subdomain),
        ("runtimeClassName", names::subdomain),
    ];
    for (field, rule) in named {
        let value = text(spec, &[field]);
        if !value.is_empty() {
            each(errors, &join(path, field), value, rule(value));
        }
    }
    let context = &spec["securityContext"];
    container::validate_ids(
        errors,
        context,
        &join(path, "securityContext"),
        &["runAsUser", "runAsGroup", "fsGroup"],
    );
}

fn validate_toleration(errors: &mut Errors, toleration: &Value, path: &str) {
    let key = text(toleration, &["key"]);
    let value = text(toleration, &["value"]);
    if !key.is_empty() {
        each(errors, &join(path, "key"), key, names::qualified(key));
    }
    match text(toleration, &["operator"]) {
        "" | "Equal" => each(
            errors,
            &join(path, "operator"),
            value,
            names::label_value(value),
        ),
        "Exists" if !value.is_empty() => {
            let detail = "value must be empty when `operator` is 'Exists'";
            errors.push(FieldError::invalid(join(path, "operator"), value, detail));
        }
        "Exists" => {}
        other => {
            let operators = ["Equal", "Exists"];
            errors.push(FieldError::not_supported(
                join(path, "operator"),
                other,
                &operators,
            ));
        }
    }
    if key.is_empty() && text(toleration, &["operator"]) != "Exists" {
        let detail = "operator must be Exists when `key` is empty, which means \"match all values and all keys\"";
        errors.push(FieldError::invalid(
            join(path, "operator"),
            text(toleration, &["operator"]),
            detail,
        ));
    }
    let effects = ["NoSchedule", "PreferNoSchedule", "NoExecute"];
    one_of(
        errors,
        join(path, "effect"),
        &toleration["effect"],
        &effects,
    );
}

fn validate_spread(errors: &mut Errors, spread: &Value, path: &str) {
    let skew = &spread["maxSkew"];
    if skew.as_i64().unwrap_or_default() <= 0 {
        let detail = "must be greater than zero";
        errors.push(FieldError::invalid(
            join(path, "maxSkew"),
            skew.clone(),
            detail,
        ));
    }
    if text(spread, &["topologyKey"]).is_empty() {
        errors.push(FieldError::required(
            join(path, "topologyKey"),
            "can not be empty",
        ));
    }
    let actions = ["DoNotSchedule", "ScheduleAnyway"];
    one_of(
        errors,
        join(path, "whenUnsatisfiable"),
        &spread["whenUnsatisfiable"],
        &actions,
    );
}

/// Checks that an update of a Pod changes only images, deadlines and tolerations.
fn validate_update(spec: &Value, old: &Value) -> Errors {
    for list in ["containers", "initContainers"] {
        if items(&spec[list]).len() != items(&old[list]).len() {
            let what = if list == "containers" {
                "containers"
            } else {
                "init containers"
            };
            let detail = format!("pod updates may not add or remove {what}");
            return vec![FieldError::forbidden(format!("spec.{list}"), detail)];
        }
    }
    let mut errors = validate_spec(spec, "spec");
    if fixed(spec) != fixed(old) {
        let detail = "pod updates may not change fields other than `spec.containers[*].image`,\
                      `spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,\
                      `spec.tolerations` (only additions to existing tolerations),\
                      `spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was \
                      previously negative)";
        errors.push(FieldError::forbidden("spec", detail));
    }
    let most = old["activeDeadlineSeconds"].as_i64();
    let deadline = spec["activeDeadlineSeconds"].as_i64();
    if let Some(most) = most
        && deadline.is_none_or(|deadline| deadline > most)
    {
        let shown = spec["activeDeadlineSeconds"].clone();
        let path = "spec.activeDeadlineSeconds";
        let detail = if shown.is_null() {
            "must not update from a positive integer to nil value"
        } else {
            "must be less than or equal to previous value"
        };
        errors.push(FieldError::invalid(path, shown, detail));
    }
    let kept = |one: &Value| items(&spec["tolerations"]).contains(one);
    if !items(&old["tolerations"]).iter().all(kept) {
        let detail = "existing toleration can not be modified except its tolerationSeconds";
        errors.push(FieldError::forbidden("spec.tolerations", detail));
    }
    errors
}

/// Returns the part of a `PodSpec` that an update cannot change, without scheduling gates and the node
/// selector.
fn fixed(spec: &Value) -> Value {
    let mut fixed = spec.clone();
    for list in ["containers", "initContainers"] {
        if let Value::Array(containers) = &mut fixed[list] {
            for container in containers {
                container["image"] = Value::Null;
            }
        }
    }
    if let Value::Object(map) = &mut fixed {
        for field in [
            "activeDeadlineSeconds",
            "tolerations",
            "schedulingGates",
            "ephemeralContainers",
        ] {
            map.remove(field);
        }
        map.retain(|_, value| !value.is_null());
    }
    fixed
}
