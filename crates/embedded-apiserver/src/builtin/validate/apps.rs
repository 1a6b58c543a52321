//! Validates Deployments, ReplicaSets, StatefulSets and DaemonSets.

use serde_json::{Value, json};

use super::super::path::{items, text};
use super::check::{
    self, Errors, each, int_or_percent, is_nothing, not_negative, one_of, unchanged,
};
use super::{pod, selector};
use crate::error::{FieldError, FieldErrorKind};
use crate::names;

const TEMPLATE: &str = "spec.template";

/// Validates the template of Pods that must always run.
fn validate_template(spec: &Value) -> Errors {
    let mut errors = pod::validate_template(&spec["template"], TEMPLATE);
    validate_running(&mut errors, spec);
    errors
}

fn validate_running(errors: &mut Errors, spec: &Value) {
    let pod = &spec["template"]["spec"];
    let path = format!("{TEMPLATE}.spec.restartPolicy");
    one_of(errors, path, &pod["restartPolicy"], &["Always"]);
    if !pod["activeDeadlineSeconds"].is_null() {
        let path = format!("{TEMPLATE}.spec.activeDeadlineSeconds");
        let detail = "activeDeadlineSeconds in ReplicaSet is not Supported";
        errors.push(FieldError::forbidden(path, detail));
    }
}

pub(super) fn validate_deployment(object: &Value, old: Option<&Value>) -> Errors {
    let spec = &object["spec"];
    let mut errors = selector::validate_of_workload(spec, "deployment", true);
    let numbers = [
        "replicas",
        "minReadySeconds",
        "revisionHistoryLimit",
        "progressDeadlineSeconds",
    ];
    not_negative(&mut errors, spec, "spec", &numbers);
    errors.extend(validate_template(spec));
    validate_strategy(&mut errors, &spec["strategy"]);
    let deadline = spec["progressDeadlineSeconds"].as_i64();
    let ready = spec["minReadySeconds"].as_i64().unwrap_or_default();
    if let Some(deadline) = deadline.filter(|deadline| *deadline <= ready) {
        let detail = "must be greater than minReadySeconds";
        errors.push(FieldError::invalid(
            "spec.progressDeadlineSeconds",
            deadline,
            detail,
        ));
    }
    if let Some(old) = old {
        unchanged(&mut errors, object, old, &["spec", "selector"]);
    }
    errors
}

fn validate_strategy(errors: &mut Errors, given: &Value) {
    let path = "spec.strategy.rollingUpdate";
    let rolling = &given["rollingUpdate"];
    match text(given, &["type"]) {
        "Recreate" if !rolling.is_null() => {
            let detail = "may not be specified when strategy `type` is 'Recreate'";
            errors.push(FieldError::forbidden(path, detail));
        }
        "Recreate" => {}
        "RollingUpdate" => {
            let (surge, unavailable) = (&rolling["maxSurge"], &rolling["maxUnavailable"]);
            int_or_percent(
                errors,
                &format!("{path}.maxUnavailable"),
                unavailable,
                Some(100),
            );
            int_or_percent(errors, &format!("{path}.maxSurge"), surge, None);
            if is_nothing(surge) && is_nothing(unavailable) {
                let detail = "may not be 0 when `maxSurge` is 0";
                let path = format!("{path}.maxUnavailable");
                errors.push(FieldError::invalid(path, unavailable.clone(), detail));
            }
        }
        other => {
            let detail = "supported values: \"Recreate\", \"RollingUpdate\"";
            let kind = FieldErrorKind::NotSupported;
            refuse_strategy(errors, kind, "spec.strategy", other, detail);
        }
    }
}

/// Adds the error for an unknown update strategy.
fn refuse_strategy(
    errors: &mut Errors,
    kind: FieldErrorKind,
    path: &str,
    strategy: &str,
    detail: &str,
) {
    let shown = check::strategy(strategy);
    errors.push(FieldError::shown(kind, path, &shown, detail));
}

pub(super) fn validate_replica_set(object: &Value, old: Option<&Value>) -> Errors {
    let spec = &object["spec"];
    let mut errors = selector::validate_of_workload(spec, "deployment", true);
    not_negative(&mut errors, spec, "spec", &["replicas", "minReadySeconds"]);
    errors.extend(validate_template(spec));
    if let Some(old) = old {
        unchanged(&mut errors, object, old, &["spec", "selector"]);
    }
    errors
}

/// The fields of a StatefulSet's spec that can change.
const CHANGEABLE: [&str; 7] = [
    "replicas",
    "ordinals",
    "template",
    "updateStrategy",
    "revisionHistoryLimit",
    "persistentVolumeClaimRetentionPolicy",
    "minReadySeconds",
];

pub(super) fn validate_stateful_set(object: &Value, old: Option<&Value>) -> Errors {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    if let Some(old) = old {
        let fixed = |spec: &Value| {
            let mut spec = spec.as_object().cloned().unwrap_or_default();
            spec.retain(|key, _| !CHANGEABLE.contains(&key.as_str()));
            spec
        };
        if fixed(spec) != fixed(&old["spec"]) {
            let detail = "updates to statefulset spec for fields other than 'replicas', \
                          'ordinals', 'template', 'updateStrategy', 'revisionHistoryLimit', \
                          'persistentVolumeClaimRetentionPolicy' and 'minReadySeconds' are \
                          forbidden";
            errors.push(FieldError::forbidden("spec", detail));
        }
    }
    let policy = text(spec, &["podManagementPolicy"]);
    if !matches!(policy, "OrderedReady" | "Parallel") {
        let detail = "must be 'OrderedReady' or 'Parallel'";
        errors.push(FieldError::invalid(
            "spec.podManagementPolicy",
            policy,
            detail,
        ));
    }
    validate_update_strategy(&mut errors, &spec["updateStrategy"]);
    not_negative(
        &mut errors,
        spec,
        "spec",
        &["replicas", "minReadySeconds", "revisionHistoryLimit"],
    );
    errors.extend(selector::validate_of_workload(spec, "statefulset", true));
    let service = text(spec, &["serviceName"]);
    if !service.is_empty() {
        each(
            &mut errors,
            "spec.serviceName",
            service,
            names::label(service),
        );
    }
    let mut with_claims = spec.clone();
    add_claims(&mut with_claims);
    errors.extend(validate_template(&with_claims));
    errors
}

/// Adds a volume to the Pod template for each claim template.
fn add_claims(spec: &mut Value) {
    let claims = items(&spec["volumeClaimTemplates"]).iter();
    let claims: Vec<Value> = claims
        .map(|one| json!({"name": one["metadata"]["name"], "emptyDir": {}}))
        .collect();
    if claims.is_empty() {
        return;
    }
    let mut volumes = items(&spec["template"]["spec"]["volumes"]).to_vec();
    volumes.retain(|one| !claims.iter().any(|claim| claim["name"] == one["name"]));
    volumes.extend(claims);
    spec["template"]["spec"]["volumes"] = Value::Array(volumes);
}

fn validate_update_strategy(errors: &mut Errors, given: &Value) {
    let rolling = &given["rollingUpdate"];
    match text(given, &["type"]) {
        "RollingUpdate" => {
            let path = "spec.updateStrategy.rollingUpdate";
            not_negative(errors, rolling, path, &["partition"]);
            int_or_percent(
                errors,
                &format!("{path}.maxUnavailable"),
                &rolling["maxUnavailable"],
                Some(100),
            );
        }
        "OnDelete" if !rolling.is_null() => {
            let value = format!(
                "{{\"Partition\":{},\"MaxUnavailable\":{}}}",
                rolling["partition"], rolling["maxUnavailable"],
            );
            let detail = "only allowed for updateStrategy 'RollingUpdate'";
            let path = "spec.updateStrategy.rollingUpdate";
            errors.push(FieldError::shown(
                FieldErrorKind::Invalid,
                path,
                &value,
                detail,
            ));
        }
        "OnDelete" => {}
        other => {
            let detail = "must be 'RollingUpdate' or 'OnDelete'";
            let kind = FieldErrorKind::Invalid;
            refuse_strategy(errors, kind, "spec.updateStrategy", other, detail);
        }
    }
}

pub(super) fn validate_daemon_set(object: &Value, old: Option<&Value>) -> Errors {
    let spec = &object["spec"];
    let mut errors = selector::validate_of_workload(spec, "daemonset", false);
    errors.extend(validate_template(spec));
    not_negative(
        &mut errors,
        spec,
        "spec",
        &["minReadySeconds", "revisionHistoryLimit"],
    );
    let strategy = &spec["updateStrategy"];
    match text(strategy, &["type"]) {
        "OnDelete" => {}
        "RollingUpdate" => {
            let path = "spec.updateStrategy.rollingUpdate.maxUnavailable";
            let rolling = &strategy["rollingUpdate"];
            int_or_percent(&mut errors, path, &rolling["maxUnavailable"], Some(100));
            if is_nothing(&rolling["maxUnavailable"]) && is_nothing(&rolling["maxSurge"]) {
                errors.push(FieldError::required(path, "cannot be 0 when maxSurge is 0"));
            }
        }
        other => {
            let detail = "supported values: \"RollingUpdate\", \"OnDelete\"";
            let kind = FieldErrorKind::NotSupported;
            refuse_strategy(&mut errors, kind, "spec.updateStrategy", other, detail);
        }
    }
    if let Some(old) = old {
        unchanged(&mut errors, object, old, &["spec", "selector"]);
    }
    errors
}
