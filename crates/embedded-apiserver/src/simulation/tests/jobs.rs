//! Tests of Jobs and CronJobs.

use super::*;

#[test]
fn a_job_completes_as_a_real_one() {
    let world = Cluster::new();
    world.create("jobs.batch", job());
    let job = world.get("jobs.batch", "j");
    assert_eq!(
        conditions(&job),
        [
            "SuccessCriteriaMet=True CompletionsReached",
            "Complete=True CompletionsReached"
        ]
    );
    let mut status = job["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    let now = "2026-01-01T00:00:00Z";
    let expected = json!({
        "completionTime": now,
        "ready": 0,
        "startTime": now,
        "succeeded": 1,
        "terminating": 0,
        "uncountedTerminatedPods": {},
    });
    assert_eq!(status, expected);
    let pod = &world.list("pods")[0];
    assert_eq!(pod["status"]["phase"], "Succeeded");
    assert_eq!(pod["metadata"].get("finalizers"), None);
}

#[test]
fn a_job_that_fails_stops_at_its_limit() {
    let world = Cluster::new();
    world
        .control
        .fail(Target::object("Job", "default", "j"), Failure::Exit);
    let mut job = job();
    job["spec"]["backoffLimit"] = json!(2);
    world.create("jobs.batch", job);
    let job = world.get("jobs.batch", "j");
    assert_eq!(
        conditions(&job),
        [
            "FailureTarget=True BackoffLimitExceeded",
            "Failed=True BackoffLimitExceeded"
        ]
    );
    assert_eq!(job["status"]["failed"], 3);
}

#[test]
fn an_indexed_job_runs_each_index_and_is_deleted_after_its_ttl() {
    let world = Cluster::new();
    let mut job = job();
    job["spec"]["completionMode"] = json!("Indexed");
    job["spec"]["completions"] = json!(3);
    job["spec"]["parallelism"] = json!(2);
    job["spec"]["ttlSecondsAfterFinished"] = json!(60);
    world.create("jobs.batch", job);
    let job = world.get("jobs.batch", "j");
    assert_eq!(job["status"]["completedIndexes"], "0-2");
    assert_eq!(job["status"]["succeeded"], 3);
    world.advance(60);
    assert_eq!(world.find("jobs.batch", "j"), None);
    assert!(world.list("pods").is_empty());
}

#[test]
fn a_cron_job_runs_on_the_clock() {
    let world = Cluster::new();
    let cron = json!({
        "apiVersion": "batch/v1",
        "kind": "CronJob",
        "metadata": {"name": "cj", "namespace": "default"},
        "spec": {"schedule": "*/5 * * * *", "jobTemplate": {"spec": job()["spec"]}},
    });
    world.create("cronjobs.batch", cron);
    assert!(world.list("jobs.batch").is_empty());
    for _ in 0..6 {
        world.advance(300);
    }
    let cron = world.get("cronjobs.batch", "cj");
    assert_eq!(cron["status"]["lastScheduleTime"], "2026-01-01T00:30:00Z");
    assert_eq!(cron["status"]["lastSuccessfulTime"], "2026-01-01T00:30:00Z");
    // The history limit is three.
    assert_eq!(world.list("jobs.batch").len(), 3);
    assert_eq!(world.list("pods").len(), 3);
    let minutes = "2026-01-01T00:30:00Z"
        .parse::<Timestamp>()
        .unwrap()
        .as_second()
        / 60;
    assert!(world.find("jobs.batch", &format!("cj-{minutes}")).is_some());
}
