//! Validates Jobs and CronJobs.

use serde_json::{Value, json};

use super::super::metadata::immutable;
use super::super::path::{at, text};
use super::super::schedule;
use super::check::{Errors, join, not_negative, one_of, unchanged};
use super::{pod, selector};
use crate::error::FieldError;
use crate::labels::LabelSelector;
use crate::names;

/// The label by which a Job selects its Pods.
const UID: &str = "batch.kubernetes.io/controller-uid";

/// The maximum length of a CronJob's name. The names of its Jobs are eleven characters longer.
const MAX_CRON_JOB_NAME: usize = 52;

const NUMBERS: [&str; 6] = [
    "parallelism",
    "completions",
    "activeDeadlineSeconds",
    "backoffLimit",
    "ttlSecondsAfterFinished",
    "backoffLimitPerIndex",
];

pub(super) fn validate_job(object: &Value, old: Option<&Value>) -> Errors {
    let spec = &object["spec"];
    let mut errors = validate_generated_selector(object);
    errors.extend(validate_job_spec(spec, "spec"));
    let labels = &spec["template"]["metadata"]["labels"];
    let parsed = LabelSelector::from_value(&spec["selector"]);
    let matches = parsed.is_ok_and(|one| one.matches(|key| labels[key].as_str()));
    if !matches || spec["selector"].is_null() {
        errors.push(selector::mismatch(labels));
    }
    if let Some(old) = old {
        unchanged(&mut errors, object, old, &["spec", "completionMode"]);
        let indexed = text(spec, &["completionMode"]) == "Indexed";
        if !(indexed && spec["completions"] == spec["parallelism"]) {
            unchanged(&mut errors, object, old, &["spec", "completions"]);
        }
        unchanged(&mut errors, object, old, &["spec", "selector"]);
        validate_template_update(&mut errors, object, old);
        unchanged(&mut errors, object, old, &["spec", "podFailurePolicy"]);
        unchanged(&mut errors, object, old, &["spec", "backoffLimitPerIndex"]);
    }
    errors
}

/// Checks that the template does not change. Fields that affect scheduling can change while a Job that never
/// ran is suspended.
fn validate_template_update(errors: &mut Errors, object: &Value, old: &Value) {
    let mut new = object["spec"]["template"].clone();
    let mut before = old["spec"]["template"].clone();
    let suspended = at(old, &["spec", "suspend"]) == &json!(true);
    if suspended && at(old, &["status", "startTime"]).is_null() {
        for template in [&mut new, &mut before] {
            for (part, field) in [
                ("metadata", "annotations"),
                ("metadata", "labels"),
                ("spec", "nodeSelector"),
                ("spec", "tolerations"),
                ("spec", "affinity"),
                ("spec", "schedulingGates"),
            ] {
                if let Value::Object(map) = &mut template[part] {
                    map.remove(field);
                }
            }
        }
    }
    if new != before {
        errors.push(immutable(
            "spec.template",
            object["spec"]["template"].clone(),
        ));
    }
}

fn validate_generated_selector(object: &Value) -> Errors {
    let spec = &object["spec"];
    if spec["manualSelector"] == json!(true) {
        return Vec::new();
    }
    let uid = text(object, &["metadata", "uid"]);
    let labels = spec["selector"]["matchLabels"].as_object();
    let generated = labels.is_some_and(|labels| labels.len() == 1)
        && text(spec, &["selector", "matchLabels", UID]) == uid;
    if spec["selector"].is_null() || generated {
        return Vec::new();
    }
    let detail = "`selector` not auto-generated";
    vec![FieldError::invalid(
        "spec.selector",
        spec["selector"].clone(),
        detail,
    )]
}

/// Validates the spec of a Job. The spec in a template has no selector yet.
fn validate_job_spec(spec: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    not_negative(&mut errors, spec, path, &NUMBERS);
    let modes = ["NonIndexed", "Indexed"];
    one_of(
        &mut errors,
        join(path, "completionMode"),
        &spec["completionMode"],
        &modes,
    );
    if path == "spec" {
        if spec["selector"].is_null() {
            errors.push(FieldError::required("spec.selector", ""));
        } else {
            errors.extend(selector::validate(&spec["selector"], "spec.selector"));
        }
    }
    let indexed = text(spec, &["completionMode"]) == "Indexed";
    if indexed && spec["completions"].is_null() {
        let detail = "when completion mode is Indexed";
        errors.push(FieldError::required(join(path, "completions"), detail));
    }
    let template = join(path, "template");
    errors.extend(pod::validate_template(&spec["template"], &template));
    let policy = &spec["template"]["spec"]["restartPolicy"];
    let policy_path = format!("{template}.spec.restartPolicy");
    match policy.as_str() {
        Some("OnFailure" | "Never") => {}
        None | Some("Always") => {
            let detail = "valid values: \"OnFailure\", \"Never\"";
            errors.push(FieldError::required(policy_path, detail));
        }
        Some(other) => {
            let options = ["OnFailure", "Never"];
            errors.push(FieldError::not_supported(policy_path, other, &options));
        }
    }
    errors
}

pub(super) fn validate_cron_job(object: &Value, old: Option<&Value>) -> Errors {
    let spec = &object["spec"];
    let mut errors = validate_schedule(spec, old.map(|old| &old["spec"]));
    let name = text(object, &["metadata", "name"]);
    if old.is_none() && name.len() > MAX_CRON_JOB_NAME {
        let detail = names::too_long(MAX_CRON_JOB_NAME);
        errors.push(FieldError::invalid("metadata.name", name, detail));
    }
    let policies = ["Allow", "Forbid", "Replace"];
    let policy = &spec["concurrencyPolicy"];
    one_of(
        &mut errors,
        "spec.concurrencyPolicy".to_owned(),
        policy,
        &policies,
    );
    let numbers = [
        "startingDeadlineSeconds",
        "successfulJobsHistoryLimit",
        "failedJobsHistoryLimit",
    ];
    not_negative(&mut errors, spec, "spec", &numbers);
    errors.extend(validate_job_spec(
        &spec["jobTemplate"]["spec"],
        "spec.jobTemplate.spec",
    ));
    errors
}

fn validate_schedule(spec: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    let schedule = text(spec, &["schedule"]);
    if schedule.is_empty() {
        errors.push(FieldError::required("spec.schedule", ""));
    } else if let Err(detail) = schedule::Schedule::parse(schedule) {
        errors.push(FieldError::invalid("spec.schedule", schedule, detail));
    } else if schedule.contains("TZ") && old.is_none() {
        let detail = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead";
        errors.push(FieldError::invalid("spec.schedule", schedule, detail));
    }
    if let Some(zone) = spec["timeZone"].as_str()
        && jiff::tz::TimeZone::get(zone).is_err()
    {
        let detail = format!("unknown time zone {zone}");
        errors.push(FieldError::invalid("spec.timeZone", zone, detail));
    }
    errors
}
