//! Tests of the simulated workloads, on a server with all controllers and a clock of their own.

use std::sync::Arc;
use std::time::Duration;

use jiff::{SignedDuration, Timestamp};
use parking_lot::Mutex;
use serde_json::{Value, json};

use super::{Control, Failure, Target};
use crate::apiserver::builtin::path::{at, items, text};
use crate::apiserver::{ApiServer, Options};
use crate::clock::Clock;

/// A server, its control and its clock.
struct World {
    server: ApiServer,
    control: Control,
    now: Arc<Mutex<Timestamp>>,
}

impl World {
    fn new() -> Self {
        let start: Timestamp = "2026-01-01T00:00:00Z".parse().unwrap();
        let now = Arc::new(Mutex::new(start));
        let read = Arc::clone(&now);
        let control = Control::new();
        let server = ApiServer::new(Options {
            clock: Clock::from_fn(move || *read.lock()),
            simulation: control.clone(),
            ..Options::default()
        });
        Self {
            server,
            control,
            now,
        }
    }

    fn create(&self, resource: &str, object: Value) {
        let made = self
            .server
            .registry
            .write(|tx| tx.create(resource, "default", object));
        made.unwrap();
    }

    fn change(&self, resource: &str, name: &str, change: impl FnOnce(&mut Value)) {
        let changed = self.server.registry.write(|tx| {
            let mut object = (*tx.get(resource, "default", name).unwrap()).clone();
            change(&mut object);
            tx.update(resource, "", object)
        });
        changed.unwrap();
    }

    fn delete(&self, resource: &str, name: &str) {
        let gone = self
            .server
            .registry
            .write(|tx| tx.delete(resource, "default", name, None));
        gone.unwrap();
    }

    fn get(&self, resource: &str, name: &str) -> Value {
        self.find(resource, name).unwrap()
    }

    fn find(&self, resource: &str, name: &str) -> Option<Value> {
        let found = self
            .server
            .registry
            .write(|tx| tx.get(resource, "default", name));
        found.map(|object| (*object).clone())
    }

    fn list(&self, resource: &str) -> Vec<Value> {
        let all = self
            .server
            .registry
            .write(|tx| tx.list(resource, Some("default")));
        all.iter().map(|object| (**object).clone()).collect()
    }

    fn advance(&self, seconds: i64) {
        *self.now.lock() += SignedDuration::from_secs(seconds);
        self.server.settle();
    }
}

fn template() -> Value {
    json!({
        "metadata": {"labels": {"app": "x"}},
        "spec": {"containers": [{"name": "c", "image": "nginx", "ports": [{"name": "http", "containerPort": 80}]}]},
    })
}

fn workload(kind: &str, replicas: i64) -> Value {
    let mut object = json!({
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": {"name": "w", "namespace": "default"},
        "spec": {"selector": {"matchLabels": {"app": "x"}}, "template": template()},
    });
    if kind != "DaemonSet" {
        object["spec"]["replicas"] = json!(replicas);
    }
    object
}

fn job() -> Value {
    json!({
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": "j", "namespace": "default"},
        "spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "nginx"}]}}},
    })
}

fn conditions(object: &Value) -> Vec<String> {
    let conditions = items(&object["status"]["conditions"]).iter();
    let one = |c: &Value| {
        format!(
            "{}={} {}",
            text(c, &["type"]),
            text(c, &["status"]),
            text(c, &["reason"])
        )
    };
    conditions.map(one).collect()
}

#[test]
fn a_deployment_becomes_available_as_a_real_one() {
    let world = World::new();
    world.create("deployments.apps", workload("Deployment", 2));
    let deployment = world.get("deployments.apps", "w");
    let mut status = deployment["status"].clone();
    status.as_object_mut().unwrap().remove("conditions");
    // As Kubernetes 1.36.3 wrote it.
    let expected = json!({
        "availableReplicas": 2,
        "observedGeneration": 1,
        "readyReplicas": 2,
        "replicas": 2,
        "terminatingReplicas": 0,
        "updatedReplicas": 2,
    });
    assert_eq!(status, expected);
    let expected = [
        "Available=True MinimumReplicasAvailable",
        "Progressing=True NewReplicaSetAvailable",
    ];
    assert_eq!(conditions(&deployment), expected);
    assert_eq!(
        deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
        "1"
    );
    let sets = world.list("replicasets.apps");
    let expected = json!({
        "availableReplicas": 2,
        "fullyLabeledReplicas": 2,
        "observedGeneration": 1,
        "readyReplicas": 2,
        "replicas": 2,
        "terminatingReplicas": 0,
    });
    assert_eq!(sets[0]["status"], expected);
    let annotations = json!({
        "deployment.kubernetes.io/desired-replicas": "2",
        "deployment.kubernetes.io/max-replicas": "3",
        "deployment.kubernetes.io/revision": "1",
    });
    assert_eq!(sets[0]["metadata"]["annotations"], annotations);
    assert_eq!(sets[0]["metadata"]["generation"], 1);
    assert_eq!(world.list("pods").len(), 2);
}

#[test]
fn a_rollout_replaces_all_pods_and_ends() {
    let world = World::new();
    for strategy in ["RollingUpdate", "Recreate"] {
        let mut deployment = workload("Deployment", 3);
        deployment["spec"]["strategy"] = json!({"type": strategy});
        world.create("deployments.apps", deployment);
        world.change("deployments.apps", "w", |object| {
            object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("nginx:2");
        });
        let pods = world.list("pods");
        assert_eq!(pods.len(), 3, "{strategy}");
        assert!(
            pods.iter()
                .all(|pod| pod["spec"]["containers"][0]["image"] == "nginx:2")
        );
        let deployment = world.get("deployments.apps", "w");
        assert_eq!(deployment["status"]["updatedReplicas"], 3);
        assert_eq!(
            deployment["status"]["observedGeneration"],
            deployment["metadata"]["generation"]
        );
        assert_eq!(
            deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"],
            "2"
        );
        assert_eq!(world.list("replicasets.apps").len(), 2);
        world.delete("deployments.apps", "w");
        assert!(world.list("pods").is_empty() && world.list("replicasets.apps").is_empty());
    }
}

#[test]
fn a_rollout_of_what_does_not_start_keeps_what_works_and_times_out() {
    let world = World::new();
    world.create("deployments.apps", workload("Deployment", 4));
    world.change("deployments.apps", "w", |object| {
        object["spec"]["template"]["metadata"]["labels"]["bad"] = json!("yes");
    });
    assert_eq!(
        world.get("deployments.apps", "w")["status"]["updatedReplicas"],
        4
    );
    let labels = crate::model::selector::LabelSelector::equals("bad", "worse");
    world.control.fail(
        Target {
            labels,
            ..Target::default()
        },
        Failure::ImagePullBackOff,
    );
    world.change("deployments.apps", "w", |object| {
        object["spec"]["template"]["metadata"]["labels"]["bad"] = json!("worse");
    });
    let deployment = world.get("deployments.apps", "w");
    let status = &deployment["status"];
    // 25 % of 4: one more, one less.
    assert_eq!(status["availableReplicas"], 3, "{status:#}");
    assert_eq!(status["updatedReplicas"], 2);
    assert_eq!(
        conditions(&deployment)[0],
        "Available=True MinimumReplicasAvailable"
    );
    world.advance(601);
    let deployment = world.get("deployments.apps", "w");
    assert!(
        conditions(&deployment).contains(&"Progressing=False ProgressDeadlineExceeded".to_owned())
    );
    let waiting = world
        .list("pods")
        .into_iter()
        .filter(|pod| pod["status"]["phase"] == "Pending");
    assert_eq!(waiting.count(), 2);
    world.control.release_all();
    world.server.settle();
    let deployment = world.get("deployments.apps", "w");
    assert_eq!(
        conditions(&deployment)[1],
        "Progressing=True NewReplicaSetAvailable"
    );
}

#[test]
fn scaling_and_pausing_do_what_they_say() {
    let world = World::new();
    world.create("deployments.apps", workload("Deployment", 1));
    for replicas in [5, 2, 0, 1] {
        world.change("deployments.apps", "w", |object| {
            object["spec"]["replicas"] = json!(replicas);
        });
        assert_eq!(i64::try_from(world.list("pods").len()).unwrap(), replicas);
        assert_eq!(world.list("replicasets.apps").len(), 1);
    }
    world.change("deployments.apps", "w", |object| {
        object["spec"]["paused"] = json!(true);
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    });
    assert_eq!(world.list("replicasets.apps").len(), 1);
    world.change("deployments.apps", "w", |object| {
        object["spec"]["replicas"] = json!(3);
    });
    assert_eq!(world.list("pods").len(), 3);
    world.change("deployments.apps", "w", |object| {
        object["spec"]["paused"] = json!(false);
    });
    assert!(
        world
            .list("pods")
            .iter()
            .all(|pod| pod["spec"]["containers"][0]["image"] == "other")
    );
}

#[test]
fn what_is_held_waits_until_it_is_released() {
    let world = World::new();
    let target = Target::object("Deployment", "default", "w");
    world.control.hold(target.clone());
    world.create("deployments.apps", workload("Deployment", 1));
    let deployment = world.get("deployments.apps", "w");
    assert_eq!(deployment["status"]["unavailableReplicas"], 1);
    assert_eq!(world.list("pods")[0]["status"]["phase"], "Pending");
    world.control.release(&target);
    world.server.settle();
    assert_eq!(
        world.get("deployments.apps", "w")["status"]["readyReplicas"],
        1
    );
}

#[test]
fn a_delay_and_min_ready_seconds_take_the_clock() {
    let world = World::new();
    world
        .control
        .delay(Target::default(), Duration::from_secs(5));
    let mut deployment = workload("Deployment", 1);
    deployment["spec"]["minReadySeconds"] = json!(10);
    world.create("deployments.apps", deployment);
    assert_eq!(
        world.get("deployments.apps", "w")["status"].get("readyReplicas"),
        None
    );
    world.advance(5);
    let status = world.get("deployments.apps", "w")["status"].clone();
    assert_eq!(
        (
            status["readyReplicas"].as_i64(),
            status["availableReplicas"].as_i64()
        ),
        (Some(1), None)
    );
    world.advance(10);
    assert_eq!(
        world.get("deployments.apps", "w")["status"]["availableReplicas"],
        1
    );
}

#[test]
fn a_stateful_set_starts_in_order_with_its_claims() {
    let world = World::new();
    let mut set = workload("StatefulSet", 3);
    set["spec"]["serviceName"] = json!("s");
    set["spec"]["volumeClaimTemplates"] = json!([{
        "metadata": {"name": "data"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    }]);
    let held = Target::object("Pod", "default", "w-1");
    world.control.hold(held.clone());
    world.create("statefulsets.apps", set);
    let names = |world: &World, resource: &str| -> Vec<String> {
        world
            .list(resource)
            .iter()
            .map(|one| text(one, &["metadata", "name"]).to_owned())
            .collect()
    };
    assert_eq!(names(&world, "pods"), ["w-0", "w-1"]);
    world.control.release(&held);
    world.server.settle();
    assert_eq!(names(&world, "pods"), ["w-0", "w-1", "w-2"]);
    assert_eq!(
        names(&world, "persistentvolumeclaims"),
        ["data-w-0", "data-w-1", "data-w-2"]
    );
    let set = world.get("statefulsets.apps", "w");
    let revision = text(&set, &["status", "updateRevision"]).to_owned();
    let expected = json!({
        "availableReplicas": 3,
        "collisionCount": 0,
        "currentReplicas": 3,
        "currentRevision": revision,
        "observedGeneration": 1,
        "readyReplicas": 3,
        "replicas": 3,
        "updateRevision": revision,
        "updatedReplicas": 3,
    });
    assert_eq!(set["status"], expected);
    world.change("statefulsets.apps", "w", |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    });
    assert!(
        world
            .list("pods")
            .iter()
            .all(|pod| pod["spec"]["containers"][0]["image"] == "other")
    );
    let set = world.get("statefulsets.apps", "w");
    assert_eq!(
        set["status"]["currentRevision"],
        set["status"]["updateRevision"]
    );
    assert_ne!(set["status"]["updateRevision"], revision.as_str());
    assert_eq!(set["status"]["updatedReplicas"], 3);
    world.change("statefulsets.apps", "w", |object| {
        object["spec"]["replicas"] = json!(1);
    });
    assert_eq!(names(&world, "pods"), ["w-0"]);
    assert_eq!(names(&world, "persistentvolumeclaims").len(), 3);
}

#[test]
fn a_daemon_set_runs_on_the_node() {
    let world = World::new();
    world.create("daemonsets.apps", workload("DaemonSet", 1));
    let expected = json!({
        "currentNumberScheduled": 1,
        "desiredNumberScheduled": 1,
        "numberAvailable": 1,
        "numberMisscheduled": 0,
        "numberReady": 1,
        "observedGeneration": 1,
        "updatedNumberScheduled": 1,
    });
    assert_eq!(world.get("daemonsets.apps", "w")["status"], expected);
    world.change("daemonsets.apps", "w", |object| {
        object["spec"]["template"]["spec"]["containers"][0]["image"] = json!("other");
    });
    let pods = world.list("pods");
    assert_eq!(pods.len(), 1);
    assert_eq!(pods[0]["spec"]["containers"][0]["image"], "other");
    assert_eq!(
        world.get("daemonsets.apps", "w")["status"]["updatedNumberScheduled"],
        1
    );
}

#[test]
fn a_job_completes_as_a_real_one() {
    let world = World::new();
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
    let world = World::new();
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
fn an_indexed_job_runs_each_index_and_goes_when_its_time_is_over() {
    let world = World::new();
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
    let world = World::new();
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
    // Three are kept.
    assert_eq!(world.list("jobs.batch").len(), 3);
    assert_eq!(world.list("pods").len(), 3);
    let minutes = "2026-01-01T00:30:00Z"
        .parse::<Timestamp>()
        .unwrap()
        .as_second()
        / 60;
    assert!(world.find("jobs.batch", &format!("cj-{minutes}")).is_some());
}

#[test]
fn a_service_has_the_endpoints_of_its_ready_pods() {
    let world = World::new();
    let service = json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": "svc", "namespace": "default"},
        "spec": {"selector": {"app": "x"}, "ports": [{"name": "web", "port": 8080, "targetPort": "http"}]},
    });
    world.create("services", service);
    assert_eq!(world.get("endpoints", "svc").get("subsets"), None);
    world.create("deployments.apps", workload("Deployment", 2));
    let subset = world.get("endpoints", "svc")["subsets"][0].clone();
    assert_eq!(items(&subset["addresses"]).len(), 2);
    assert_eq!(
        subset["ports"],
        json!([{"name": "web", "port": 80, "protocol": "TCP"}])
    );
    let slices = world.list("endpointslices.discovery.k8s.io");
    assert_eq!(items(&slices[0]["endpoints"]).len(), 2);
    assert_eq!(slices[0]["endpoints"][0]["conditions"]["ready"], true);
    world.change("deployments.apps", "w", |object| {
        object["spec"]["replicas"] = json!(0);
    });
    assert_eq!(world.get("endpoints", "svc").get("subsets"), None);
    world.delete("services", "svc");
    assert!(world.list("endpointslices.discovery.k8s.io").is_empty());
}

#[test]
fn a_claim_is_bound_and_goes_after_its_pod() {
    let world = World::new();
    let claim = json!({
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "c", "namespace": "default"},
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    });
    world.create("persistentvolumeclaims", claim);
    let claim = world.get("persistentvolumeclaims", "c");
    assert_eq!(
        claim["status"],
        json!({
            "phase": "Bound",
            "accessModes": ["ReadWriteOnce"],
            "capacity": {"storage": "1Gi"},
        })
    );
    let mut pod = json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "p", "namespace": "default"},
        "spec": template()["spec"],
    });
    pod["spec"]["volumes"] = json!([{"name": "v", "persistentVolumeClaim": {"claimName": "c"}}]);
    world.create("pods", pod);
    assert_eq!(world.get("pods", "p")["status"]["phase"], "Running");
    world.delete("persistentvolumeclaims", "c");
    assert!(
        at(
            &world.get("persistentvolumeclaims", "c"),
            &["metadata", "deletionTimestamp"]
        )
        .is_string()
    );
    world.delete("pods", "p");
    assert_eq!(world.find("pods", "p"), None);
    assert_eq!(world.find("persistentvolumeclaims", "c"), None);
    let volumes = world
        .server
        .registry
        .write(|tx| tx.list("persistentvolumes", None));
    assert!(volumes.is_empty());
}

#[test]
fn pods_go_wrong_as_they_are_told() {
    let world = World::new();
    for (failure, phase, reason) in [
        (Failure::CrashLoopBackOff, "Running", "CrashLoopBackOff"),
        (Failure::ImagePullBackOff, "Pending", "ImagePullBackOff"),
        (Failure::NeverReady, "Running", ""),
    ] {
        world.control.release_all();
        world.control.fail(Target::default(), failure);
        let mut pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}});
        pod["spec"] = template()["spec"].clone();
        world.create("pods", pod);
        let pod = world.get("pods", "p");
        assert_eq!(pod["status"]["phase"], phase);
        let state = &pod["status"]["containerStatuses"][0]["state"];
        assert_eq!(text(state, &["waiting", "reason"]), reason);
        assert!(conditions(&pod).contains(&"Ready=False ContainersNotReady".to_owned()));
        world.delete("pods", "p");
    }
}

#[test]
fn a_budget_knows_what_may_be_disrupted() {
    let world = World::new();
    world.create("deployments.apps", workload("Deployment", 3));
    let budget = json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": "b", "namespace": "default"},
        "spec": {"minAvailable": 2, "selector": {"matchLabels": {"app": "x"}}},
    });
    world.create("poddisruptionbudgets.policy", budget);
    let status = world.get("poddisruptionbudgets.policy", "b")["status"].clone();
    assert_eq!(
        (
            status["disruptionsAllowed"].clone(),
            status["currentHealthy"].clone()
        ),
        (json!(1), json!(3))
    );
}
