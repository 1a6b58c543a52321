//! The table cells of Pods and of workloads.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{age, at, joined, labels, list, number, or, selector, text};

/// Returns the cells after the name. Absent for other resources.
pub(super) fn cells(id: &str, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let age = age::format_age(object, now);
    let status = |field: &str| number(object, &["status", field]);
    let desired = number(object, &["spec", "replicas"]);
    let (names, images) = containers(&object["spec"]["template"]);
    let selected = selector(&object["spec"]["selector"]);
    Some(match id {
        "pods" => pod(object, now),
        "deployments.apps" => vec![
            format!("{}/{desired}", status("readyReplicas")).into(),
            status("updatedReplicas").into(),
            status("availableReplicas").into(),
            age.into(),
            names.into(),
            images.into(),
            selected.into(),
        ],
        "replicasets.apps" | "replicationcontrollers" => vec![
            desired.into(),
            status("replicas").into(),
            status("readyReplicas").into(),
            age.into(),
            names.into(),
            images.into(),
            selected.into(),
        ],
        "statefulsets.apps" => vec![
            format!("{}/{desired}", status("readyReplicas")).into(),
            age.into(),
            names.into(),
            images.into(),
        ],
        "daemonsets.apps" => vec![
            status("desiredNumberScheduled").into(),
            status("currentNumberScheduled").into(),
            status("numberReady").into(),
            status("updatedNumberScheduled").into(),
            status("numberAvailable").into(),
            labels(at(object, &["spec", "template", "spec", "nodeSelector"])).into(),
            age.into(),
            names.into(),
            images.into(),
            selected.into(),
        ],
        "jobs.batch" => vec![
            job_status(object).into(),
            completions(object).into(),
            duration(object, now).into(),
            age.into(),
            names.into(),
            images.into(),
            selected.into(),
        ],
        "cronjobs.batch" => cron_job(object, now),
        _ => return None,
    })
}

/// Returns the names and the images of a template's containers.
fn containers(template: &Value) -> (String, String) {
    let containers = list(template, &["spec", "containers"]);
    let field = |name| joined(containers.iter().map(|one| text(one, &[name])));
    (field("name"), field("image"))
}

fn pod(pod: &Value, now: Timestamp) -> Vec<Value> {
    let statuses = list(pod, &["status", "containerStatuses"]);
    let total = list(pod, &["spec", "containers"]).len();
    let is_ready = |one: &&Value| one["ready"] == true && one["state"]["running"].is_object();
    let ready = statuses.iter().filter(is_ready).count();
    let restarts: i64 = statuses
        .iter()
        .map(|one| number(one, &["restartCount"]))
        .sum();
    let gates = list(pod, &["spec", "readinessGates"]);
    let gates = if gates.is_empty() {
        "<none>".to_owned()
    } else {
        let open = gates
            .iter()
            .filter(|gate| has_condition(pod, text(gate, &["conditionType"])));
        format!("{}/{}", open.count(), gates.len())
    };
    vec![
        format!("{ready}/{total}").into(),
        pod_status(pod).into(),
        restarts.to_string().into(),
        age::format_age(pod, now).into(),
        or(text(pod, &["status", "podIP"]), "<none>").into(),
        or(text(pod, &["spec", "nodeName"]), "<none>").into(),
        or(text(pod, &["status", "nominatedNodeName"]), "<none>").into(),
        gates.into(),
    ]
}

fn has_condition(object: &Value, kind: &str) -> bool {
    let conditions = list(object, &["status", "conditions"]);
    conditions
        .iter()
        .any(|one| one["type"] == kind && one["status"] == "True")
}

/// Returns the phase of a Pod, or a more specific reason from its containers.
fn pod_status(pod: &Value) -> String {
    let phase = text(pod, &["status", "phase"]);
    let mut reason = or(text(pod, &["status", "reason"]), phase).to_owned();
    let mut runs = false;
    for status in list(pod, &["status", "containerStatuses"]).iter().rev() {
        let waiting = text(status, &["state", "waiting", "reason"]);
        let terminated = text(status, &["state", "terminated", "reason"]);
        if !waiting.is_empty() {
            waiting.clone_into(&mut reason);
        } else if !terminated.is_empty() {
            terminated.clone_into(&mut reason);
        } else if status["state"]["terminated"].is_object() {
            let code = number(status, &["state", "terminated", "exitCode"]);
            reason = format!("ExitCode:{code}");
        } else if status["ready"] == true && status["state"]["running"].is_object() {
            runs = true;
        }
    }
    if reason == "Completed" && runs {
        let ready = has_condition(pod, "Ready");
        let shown = if ready { "Running" } else { "NotReady" };
        shown.clone_into(&mut reason);
    }
    let over = matches!(phase, "Succeeded" | "Failed");
    if pod["metadata"]["deletionTimestamp"].is_string() && !over {
        "Terminating".clone_into(&mut reason);
    }
    reason
}

fn job_status(job: &Value) -> &'static str {
    if has_condition(job, "Complete") {
        "Complete"
    } else if has_condition(job, "Failed") {
        "Failed"
    } else if job["metadata"]["deletionTimestamp"].is_string() {
        "Terminating"
    } else if has_condition(job, "Suspended") {
        "Suspended"
    } else if has_condition(job, "FailureTarget") {
        "FailureTarget"
    } else if has_condition(job, "SuccessCriteriaMet") {
        "SuccessCriteriaMet"
    } else {
        "Running"
    }
}

fn completions(job: &Value) -> String {
    let done = number(job, &["status", "succeeded"]);
    if let Some(wanted) = job["spec"]["completions"].as_i64() {
        return format!("{done}/{wanted}");
    }
    match number(job, &["spec", "parallelism"]) {
        parallel if parallel > 1 => format!("{done}/1 of {parallel}"),
        _ => format!("{done}/1"),
    }
}

fn duration(job: &Value, now: Timestamp) -> String {
    let time = |field: &str| text(job, &["status", field]).parse::<Timestamp>().ok();
    let Some(start) = time("startTime") else {
        return String::new();
    };
    let end = time("completionTime").unwrap_or(now);
    age::human(end.as_second() - start.as_second())
}

fn cron_job(object: &Value, now: Timestamp) -> Vec<Value> {
    let (names, images) = containers(at(object, &["spec", "jobTemplate", "spec", "template"]));
    let last = &object["status"]["lastScheduleTime"];
    let last = if last.is_string() {
        age::since(last, now)
    } else {
        "<none>".to_owned()
    };
    let suspended = object["spec"]["suspend"] == true;
    let selected = at(object, &["spec", "jobTemplate", "spec", "selector"]);
    vec![
        text(object, &["spec", "schedule"]).into(),
        or(text(object, &["spec", "timeZone"]), "<none>").into(),
        if suspended { "True" } else { "False" }.into(),
        json!(list(object, &["status", "active"]).len()),
        last.into(),
        age::format_age(object, now).into(),
        names.into(),
        images.into(),
        selector(selected).into(),
    ]
}
