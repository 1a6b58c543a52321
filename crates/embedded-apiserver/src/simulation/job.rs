//! Jobs: runs Pods until enough of them succeed.

use std::sync::Arc;

use jiff::{SignedDuration, Timestamp};
use serde_json::{Value, json};

use super::objects::{
    controlled, count, create, delete, is_terminating, name, namespace, number, pod_of, update,
    write_status,
};
use super::pod::{is_finished, is_ready};
use super::{Simulation, condition};
use crate::builtin::path::{at, items, text};
use crate::registry::{Propagation, Transaction};

pub(super) const RESOURCE: &str = "jobs.batch";
const TRACKING: &str = "batch.kubernetes.io/job-tracking";
const INDEX: &str = "batch.kubernetes.io/job-completion-index";

/// The running Pods of a Job, and the counters of those that have ended.
struct Pods {
    active: Vec<Arc<Value>>,
    succeeded: i64,
    failed: i64,
    ready: i64,
    terminating: i64,
    /// The completion indexes that succeeded.
    done: Vec<i64>,
}

/// Returns whether a Job has completed or failed.
pub(super) fn is_over(job: &Value) -> bool {
    condition::is_true(&job["status"], "Complete") || condition::is_true(&job["status"], "Failed")
}

pub(super) fn sync(sim: &mut Simulation, tx: &mut Transaction<'_>, job: &Value) {
    if is_terminating(job) {
        count_ended(tx, job, &mut job["status"].clone());
        return;
    }
    if is_over(job) {
        expire(sim, tx, job);
        return;
    }
    let now = tx.now_rfc3339();
    let mut status = job["status"].clone();
    let suspended = job["spec"]["suspend"] == json!(true);
    if suspended {
        suspend(&mut status, &now);
    } else {
        resume(&mut status, &now);
    }
    let mut pods = count_ended(tx, job, &mut status);
    let verdict = verdict(sim, tx, job, &status, &pods);
    if verdict.is_some() || suspended {
        for pod in pods.active.drain(..) {
            delete(tx, "pods", &pod);
        }
        pods.ready = 0;
    } else {
        start(tx, job, &mut pods);
    }
    status["active"] = json!(pods.active.len());
    status["ready"] = json!(pods.ready);
    status["succeeded"] = json!(pods.succeeded);
    status["failed"] = json!(pods.failed);
    status["terminating"] = json!(pods.terminating);
    status["uncountedTerminatedPods"] = json!({});
    if !pods.done.is_empty() {
        status["completedIndexes"] = json!(ranges(&pods.done));
    }
    if let Some(verdict) = verdict {
        verdict.write(&mut status, &now);
    }
    if let Value::Object(map) = &mut status {
        map.retain(|key, value| {
            *value != json!(0) || matches!(key.as_str(), "ready" | "terminating")
        });
    }
    write_status(tx, RESOURCE, job, status);
}

/// The outcome of a Job.
struct JobOutcome {
    good: bool,
    reason: &'static str,
    message: &'static str,
}

impl JobOutcome {
    fn write(&self, status: &mut Value, now: &str) {
        let kinds = if self.good {
            ["SuccessCriteriaMet", "Complete"]
        } else {
            ["FailureTarget", "Failed"]
        };
        for kind in kinds {
            let mut made = condition::make(kind, "True", self.reason, self.message, now);
            made["lastProbeTime"] = json!(now);
            condition::set(status, made);
        }
        if self.good {
            status["completionTime"] = json!(now);
        }
    }
}

fn verdict(
    sim: &mut Simulation,
    tx: &Transaction<'_>,
    job: &Value,
    status: &Value,
    pods: &Pods,
) -> Option<JobOutcome> {
    let spec = &job["spec"];
    if pods.failed > number(spec, &["backoffLimit"]) {
        return Some(JobOutcome {
            good: false,
            reason: "BackoffLimitExceeded",
            message: "Job has reached the specified backoff limit",
        });
    }
    if let Some(seconds) = spec["activeDeadlineSeconds"].as_i64()
        && let Ok(started) = text(status, &["startTime"]).parse::<Timestamp>()
    {
        let due = started + SignedDuration::from_secs(seconds);
        if due <= tx.now() {
            return Some(JobOutcome {
                good: false,
                reason: "DeadlineExceeded",
                message: "Job was active longer than specified deadline",
            });
        }
        sim.requeue(due, RESOURCE, job);
    }
    // A Job without a number of completions completes when one Pod succeeded and all Pods have ended.
    let complete = match spec["completions"].as_i64() {
        Some(wanted) => pods.succeeded >= wanted,
        None => pods.succeeded > 0 && pods.active.is_empty(),
    };
    complete.then_some(JobOutcome {
        good: true,
        reason: "CompletionsReached",
        message: "Reached expected number of succeeded pods",
    })
}

fn suspend(status: &mut Value, now: &str) {
    if condition::is_true(status, "Suspended") {
        return;
    }
    let mut made = condition::make("Suspended", "True", "JobSuspended", "Job suspended", now);
    made["lastProbeTime"] = json!(now);
    condition::set(status, made);
    if let Value::Object(map) = status {
        map.remove("startTime");
    }
}

fn resume(status: &mut Value, now: &str) {
    if condition::is_true(status, "Suspended") {
        let mut made = condition::make("Suspended", "False", "JobResumed", "Job resumed", now);
        made["lastProbeTime"] = json!(now);
        condition::set(status, made);
    }
    if status["startTime"].is_null() {
        status["startTime"] = json!(now);
    }
}

/// Counts the Pods that have ended, and releases their finalizers. The finalizer ensures that each Pod is
/// counted once.
fn count_ended(tx: &mut Transaction<'_>, job: &Value, status: &mut Value) -> Pods {
    let over = is_terminating(job);
    let mut pods = Pods {
        active: Vec::new(),
        succeeded: number(status, &["succeeded"]),
        failed: number(status, &["failed"]),
        ready: 0,
        terminating: 0,
        done: parsed(text(status, &["completedIndexes"])),
    };
    for pod in controlled(tx, "pods", job) {
        let tracked = items(&pod["metadata"]["finalizers"])
            .iter()
            .any(|one| one == TRACKING);
        let finished = is_finished(&pod);
        if !finished && !is_terminating(&pod) && !over {
            pods.ready += i64::from(is_ready(&pod));
            pods.active.push(pod);
            continue;
        }
        if !finished && is_terminating(&pod) {
            pods.terminating += i64::from(!tracked);
        }
        if !tracked {
            continue;
        }
        if text(&pod, &["status", "phase"]) == "Succeeded" {
            pods.succeeded += 1;
            pods.done.extend(index(&pod));
        } else {
            pods.failed += 1;
        }
        let mut pod = (*pod).clone();
        if let Value::Array(finalizers) = &mut pod["metadata"]["finalizers"] {
            finalizers.retain(|one| one != TRACKING);
        }
        update(tx, "pods", pod);
    }
    pods.done.sort_unstable();
    pods.done.dedup();
    pods
}

fn index(pod: &Value) -> Option<i64> {
    text(pod, &["metadata", "annotations", INDEX]).parse().ok()
}

/// Formats indexes as ranges: 0, 1, 2, 5 become `0-2,5`.
fn ranges(indexes: &[i64]) -> String {
    let mut parts: Vec<(i64, i64)> = Vec::new();
    for index in indexes {
        match parts.last_mut() {
            Some((_, last)) if *last + 1 == *index => *last = *index,
            _ => parts.push((*index, *index)),
        }
    }
    let written = parts.iter().map(|(first, last)| match last - first {
        0 => first.to_string(),
        1 => format!("{first},{last}"),
        _ => format!("{first}-{last}"),
    });
    written.collect::<Vec<_>>().join(",")
}

fn parsed(text: &str) -> Vec<i64> {
    let range = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        Some(first.parse::<i64>().ok()?..=last.parse().ok()?)
    };
    text.split(',').filter_map(range).flatten().collect()
}

/// Starts as many Pods as are needed, up to the parallelism. Deletes excess Pods.
fn start(tx: &mut Transaction<'_>, job: &Value, pods: &mut Pods) {
    let spec = &job["spec"];
    let parallelism = number(spec, &["parallelism"]);
    let active = count(pods.active.len());
    let needed = match spec["completions"].as_i64() {
        Some(wanted) => parallelism.min(wanted - pods.succeeded),
        None if pods.succeeded > 0 => active,
        None => parallelism,
    };
    let excess = usize::try_from(active - needed).unwrap_or_default();
    for pod in pods.active.drain(..excess.min(pods.active.len())) {
        delete(tx, "pods", &pod);
    }
    let indexed = text(spec, &["completionMode"]) == "Indexed";
    for _ in active..needed {
        let index = indexed.then(|| free_index(pods));
        match create(tx, "pods", pod(job, index)) {
            Ok(pod) => pods.active.push(pod),
            Err(_) => return,
        }
    }
}

/// Returns the first index that is neither running nor succeeded.
fn free_index(pods: &Pods) -> i64 {
    let running: Vec<i64> = pods.active.iter().filter_map(|pod| index(pod)).collect();
    let free = |index: &i64| !running.contains(index) && !pods.done.contains(index);
    (0..i64::from(i32::MAX)).find(free).unwrap_or_default()
}

fn pod(job: &Value, index: Option<i64>) -> Value {
    let mut pod = pod_of(&job["spec"]["template"], job);
    let mut finalizers = items(&pod["metadata"]["finalizers"]).to_vec();
    finalizers.push(json!(TRACKING));
    pod["metadata"]["finalizers"] = Value::Array(finalizers);
    let Some(index) = index else {
        pod["metadata"]["generateName"] = json!(format!("{}-", name(job)));
        return pod;
    };
    pod["metadata"]["generateName"] = json!(format!("{}-{index}-", name(job)));
    pod["metadata"]["labels"][INDEX] = json!(index.to_string());
    pod["metadata"]["annotations"][INDEX] = json!(index.to_string());
    pod["spec"]["hostname"] = json!(format!("{}-{index}", name(job)));
    if let Value::Array(containers) = &mut pod["spec"]["containers"] {
        for container in containers {
            let path = format!("metadata.labels['{INDEX}']");
            let variable = json!({
                "name": "JOB_COMPLETION_INDEX",
                "valueFrom": {"fieldRef": {"fieldPath": path}},
            });
            match &mut container["env"] {
                Value::Array(env) => env.push(variable),
                env => *env = json!([variable]),
            }
        }
    }
    pod
}

/// Deletes a finished Job after its `ttlSecondsAfterFinished`.
fn expire(sim: &mut Simulation, tx: &mut Transaction<'_>, job: &Value) {
    count_ended(tx, job, &mut job["status"].clone());
    let Some(seconds) = at(job, &["spec", "ttlSecondsAfterFinished"]).as_i64() else {
        return;
    };
    let status = &job["status"];
    let over = condition::find(status, "Complete").or_else(|| condition::find(status, "Failed"));
    let Some(Ok(since)) = over.map(|one| text(one, &["lastTransitionTime"]).parse::<Timestamp>())
    else {
        return;
    };
    let due = since + SignedDuration::from_secs(seconds);
    if due > tx.now() {
        sim.requeue(due, RESOURCE, job);
        return;
    }
    let policy = Some(Propagation::Foreground);
    if let Err(error) = tx.delete(RESOURCE, namespace(job), name(job), policy) {
        tracing::debug!(%error, "a finished Job is not deleted");
    }
}
