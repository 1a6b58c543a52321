//! CronJobs: creates a Job at each scheduled time.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use serde_json::{Map, Value, json};

use super::objects::{
    controlled, create, is_terminating, name, namespace, number, owner_reference, uid, write_status,
};
use super::{Simulation, condition, job};
use crate::builtin::path::{at, text};
use crate::builtin::schedule::Schedule;
use crate::registry::{Propagation, Transaction};

const RESOURCE: &str = "cronjobs.batch";

/// The maximum number of missed times that are counted. If the clock advances far, a single Job runs, as with
/// the real controller.
const MAX_MISSED: usize = 100;

pub(super) fn sync(sim: &mut Simulation, tx: &mut Transaction<'_>, cron: &Value) {
    if is_terminating(cron) {
        return;
    }
    let jobs = controlled(tx, job::RESOURCE, cron);
    clean(tx, cron, &jobs);
    let Some((last, next)) = times(tx, cron) else {
        report(tx, cron, None);
        return;
    };
    if let Some(next) = next {
        sim.requeue(next, RESOURCE, cron);
    }
    let suspended = cron["spec"]["suspend"] == json!(true);
    let scheduled = last.filter(|last| !suspended && is_in_time(tx, cron, *last));
    let ran = scheduled.filter(|scheduled| run(tx, cron, &jobs, *scheduled));
    report(tx, cron, ran);
}

/// Returns the last time that is due and has not run yet, and the next time.
fn times(tx: &Transaction<'_>, cron: &Value) -> Option<(Option<Timestamp>, Option<Timestamp>)> {
    let schedule = Schedule::parse(text(cron, &["spec", "schedule"])).ok()?;
    let zone = match text(cron, &["spec", "timeZone"]) {
        "" => TimeZone::UTC,
        name => TimeZone::get(name).ok()?,
    };
    let since = match text(cron, &["status", "lastScheduleTime"]) {
        "" => text(cron, &["metadata", "creationTimestamp"]),
        last => last,
    };
    let mut at = since.parse::<Timestamp>().ok()?;
    let mut last = None;
    for _ in 0..MAX_MISSED {
        match schedule.next_after(at, &zone) {
            Some(next) if next <= tx.now() => {
                last = Some(next);
                at = next;
            }
            next => return Some((last, next)),
        }
    }
    Some((last, schedule.next_after(tx.now(), &zone)))
}

fn is_in_time(tx: &Transaction<'_>, cron: &Value, scheduled: Timestamp) -> bool {
    let deadline = at(cron, &["spec", "startingDeadlineSeconds"]).as_i64();
    deadline.is_none_or(|seconds| tx.now().duration_since(scheduled).as_secs() <= seconds)
}

/// Runs a Job for a scheduled time, unless the concurrency policy forbids it. Returns whether a Job was
/// created.
fn run(tx: &mut Transaction<'_>, cron: &Value, jobs: &[Arc<Value>], scheduled: Timestamp) -> bool {
    let running: Vec<_> = jobs.iter().filter(|one| !job::is_over(one)).collect();
    match text(cron, &["spec", "concurrencyPolicy"]) {
        "Forbid" if !running.is_empty() => return false,
        "Replace" => {
            for one in running {
                delete(tx, one);
            }
        }
        _ => {}
    }
    create(tx, job::RESOURCE, job_of(cron, scheduled)).is_ok()
}

fn job_of(cron: &Value, scheduled: Timestamp) -> Value {
    let template = &cron["spec"]["jobTemplate"];
    let minutes = scheduled.as_second() / 60;
    let annotations = template["metadata"]["annotations"].as_object();
    let mut annotations: Map<String, Value> = annotations.cloned().unwrap_or_default();
    let time = scheduled.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    annotations.insert(
        "batch.kubernetes.io/cronjob-scheduled-timestamp".to_owned(),
        json!(time),
    );
    let mut owner = owner_reference(cron);
    owner["apiVersion"] = json!("batch/v1");
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {
            "name": format!("{}-{minutes}", name(cron)),
            "namespace": namespace(cron),
            "labels": template["metadata"]["labels"],
            "annotations": annotations,
            "ownerReferences": [owner],
        },
        "spec": template["spec"],
    })
}

/// Deletes the oldest successful and failed Jobs beyond their history limits.
fn clean(tx: &mut Transaction<'_>, cron: &Value, jobs: &[Arc<Value>]) {
    for (kind, limit) in [
        ("Complete", "successfulJobsHistoryLimit"),
        ("Failed", "failedJobsHistoryLimit"),
    ] {
        let ended = |one: &&Arc<Value>| condition::is_true(&one["status"], kind);
        let mut ended: Vec<_> = jobs.iter().filter(ended).collect();
        ended.sort_by_key(|one| text(one, &["status", "startTime"]).to_owned());
        let limit = usize::try_from(number(cron, &["spec", limit])).unwrap_or_default();
        let excess = ended.len().saturating_sub(limit);
        for one in ended.into_iter().take(excess) {
            delete(tx, one);
        }
    }
}

fn delete(tx: &mut Transaction<'_>, job: &Value) {
    let policy = Some(Propagation::Background);
    if let Err(error) = tx.delete(job::RESOURCE, namespace(job), name(job), policy) {
        tracing::debug!(%error, "a CronJob's Job is not deleted");
    }
}

fn report(tx: &mut Transaction<'_>, cron: &Value, ran: Option<Timestamp>) {
    let jobs = controlled(tx, job::RESOURCE, cron);
    let mut status = json!({});
    let active = jobs
        .iter()
        .filter(|one| !job::is_over(one) && !is_terminating(one));
    let active: Vec<Value> = active
        .map(|one| {
            json!({
                "apiVersion": "batch/v1",
                "kind": "Job",
                "name": name(one),
                "namespace": namespace(one),
                "uid": uid(one),
                "resourceVersion": one["metadata"]["resourceVersion"],
            })
        })
        .collect();
    if !active.is_empty() {
        status["active"] = Value::Array(active);
    }
    let scheduled = match ran {
        Some(at) => json!(at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()),
        None => cron["status"]["lastScheduleTime"].clone(),
    };
    let completed = jobs
        .iter()
        .map(|one| text(one, &["status", "completionTime"]));
    let completed = completed
        .chain([text(cron, &["status", "lastSuccessfulTime"])])
        .max();
    let completed = completed
        .filter(|time| !time.is_empty())
        .map(|time| json!(time));
    for (field, value) in [
        ("lastScheduleTime", scheduled),
        ("lastSuccessfulTime", completed.unwrap_or_default()),
    ] {
        if !value.is_null() {
            status[field] = value;
        }
    }
    write_status(tx, RESOURCE, cron, status);
}
