//! The cases are those of kstatus' own rules (`cli-utils/pkg/kstatus/status`).

use serde_json::json;

use super::*;

#[track_caller]
fn check(api_version: &str, kind: &str, mut rest: Value, expected: Option<&str>) {
    rest["apiVersion"] = json!(api_version);
    rest["kind"] = json!(kind);
    assert_eq!(not_ready(&rest).as_deref(), expected, "{rest}");
}

fn rolled_out(replicas: i64) -> Value {
    json!({
        "observedGeneration": 1, "replicas": replicas, "updatedReplicas": replicas,
        "readyReplicas": replicas, "availableReplicas": replicas,
        "conditions": [
            {"type": "Progressing", "status": "True", "reason": "NewReplicaSetAvailable"},
            {"type": "Available", "status": "True"},
        ],
    })
}

#[test]
fn a_terminating_object_is_not_ready() {
    let object = json!({"metadata": {"deletionTimestamp": "2026-01-01T00:00:00Z"}});
    check("v1", "ConfigMap", object, Some("it is being deleted"));
}

#[test]
fn a_status_of_an_older_generation_does_not_count() {
    let object = json!({"metadata": {"generation": 2}, "status": rolled_out(1)});
    let why = "generation 2 is not observed yet, only 1";
    check("apps/v1", "Deployment", object, Some(why));
}

#[test]
fn deployments() {
    let with = |change: fn(&mut Value)| {
        let mut object = json!({
            "metadata": {"generation": 1},
            "spec": {"replicas": 2, "progressDeadlineSeconds": 600},
            "status": rolled_out(2),
        });
        change(&mut object);
        object
    };
    let check = |change: fn(&mut Value), expected: Option<&str>| {
        check("apps/v1", "Deployment", with(change), expected);
    };
    check(|_| {}, None);
    check(|d| d["status"] = json!({}), Some("it is not observed yet"));
    check(
        |d| d["status"]["replicas"] = json!(1),
        Some("1 of 2 replicas exist"),
    );
    check(
        |d| d["status"]["updatedReplicas"] = json!(1),
        Some("1 of 2 replicas are updated"),
    );
    check(
        |d| d["status"]["replicas"] = json!(3),
        Some("1 old replicas are terminating"),
    );
    check(
        |d| d["status"]["availableReplicas"] = json!(0),
        Some("0 of 2 replicas are available"),
    );
    check(
        |d| d["status"]["readyReplicas"] = json!(1),
        Some("1 of 2 replicas are ready"),
    );
    check(
        |d| d["status"]["conditions"][0]["reason"] = json!("ReplicaSetUpdated"),
        Some("its new ReplicaSet is not available"),
    );
    check(
        |d| d["status"]["conditions"][0]["reason"] = json!("ProgressDeadlineExceeded"),
        Some("it exceeded its progress deadline"),
    );
    check(
        |d| d["status"]["conditions"][1]["status"] = json!("False"),
        Some("it is not available"),
    );
    check(
        |d| {
            d["spec"] = json!({"replicas": 0});
            d["status"] = json!({"observedGeneration": 1, "conditions": [
                {"type": "Available", "status": "True"},
            ]});
        },
        None,
    );
}

#[test]
fn stateful_sets() {
    let of = |spec: Value, status: Value| json!({"spec": spec, "status": status});
    let check = |spec: Value, status: Value, expected: Option<&str>| {
        check("apps/v1", "StatefulSet", of(spec, status), expected);
    };
    check(
        json!({"updateStrategy": {"type": "OnDelete"}}),
        json!({}),
        None,
    );
    check(json!({}), json!({}), Some("it is not observed yet"));
    let status = |ready: i64, updated: i64, revision: &str| {
        json!({
            "observedGeneration": 1, "replicas": 2, "readyReplicas": ready,
            "updatedReplicas": updated, "currentRevision": "a", "updateRevision": revision,
        })
    };
    let spec = json!({"replicas": 2});
    check(spec.clone(), status(2, 2, "a"), None);
    check(
        spec.clone(),
        status(1, 2, "a"),
        Some("1 of 2 replicas are ready"),
    );
    check(spec, status(2, 1, "b"), Some("1 of 2 replicas are updated"));
    let partitioned = json!({
        "replicas": 2, "updateStrategy": {"rollingUpdate": {"partition": 1}},
    });
    check(partitioned.clone(), status(2, 1, "b"), None);
    check(
        partitioned,
        status(2, 0, "b"),
        Some("0 of 1 replicas are updated"),
    );
}

#[test]
fn daemon_sets() {
    let check = |status: Value, expected: Option<&str>| {
        check("apps/v1", "DaemonSet", json!({"status": status}), expected);
    };
    check(
        json!({"observedGeneration": 1}),
        Some("it is not observed yet"),
    );
    let status = |updated: i64, ready: i64| {
        json!({
            "observedGeneration": 1, "desiredNumberScheduled": 2, "currentNumberScheduled": 2,
            "updatedNumberScheduled": updated, "numberAvailable": ready, "numberReady": ready,
        })
    };
    check(status(2, 2), None);
    check(status(1, 2), Some("1 of 2 Pods are updated"));
    check(status(2, 1), Some("1 of 2 Pods are available"));
    check(
        json!({"observedGeneration": 1, "desiredNumberScheduled": 0}),
        None,
    );
}

#[test]
fn replica_sets() {
    let check = |status: Value, expected: Option<&str>| {
        check("apps/v1", "ReplicaSet", json!({"status": status}), expected);
    };
    let failing = json!({"conditions": [
        {"type": "ReplicaFailure", "status": "True", "reason": "FailedCreate", "message": "quota"},
    ]});
    check(failing, Some("replicas fail: FailedCreate: quota"));
    let status = json!({
        "observedGeneration": 1, "replicas": 1, "fullyLabeledReplicas": 1,
        "availableReplicas": 1, "readyReplicas": 1,
    });
    check(status, None);
}

#[test]
fn jobs_are_ready_when_their_work_is_done() {
    let check = |status: Value, expected: Option<&str>| {
        check("batch/v1", "Job", json!({"status": status}), expected);
    };
    check(
        json!({"startTime": "x", "active": 1}),
        Some("0 of 1 completions"),
    );
    check(
        json!({"conditions": [{"type": "Complete", "status": "True"}]}),
        None,
    );
    let failed = json!({"conditions": [
        {"type": "Failed", "status": "True", "reason": "BackoffLimitExceeded"},
    ]});
    check(failed, Some("it failed: BackoffLimitExceeded"));
}

#[test]
fn pods() {
    let check = |status: Value, expected: Option<&str>| {
        check("v1", "Pod", json!({"status": status}), expected);
    };
    let ready = json!({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]});
    check(ready, None);
    check(
        json!({"phase": "Running"}),
        Some("it runs and is not ready"),
    );
    check(json!({"phase": "Succeeded"}), None);
    check(
        json!({"phase": "Failed", "reason": "Evicted"}),
        Some("it failed: Evicted"),
    );
    check(json!({"phase": "Pending"}), Some("it is pending"));
    check(json!({}), Some("it has no status yet"));
    let crashing = json!({"phase": "Running", "containerStatuses": [
        {"state": {"waiting": {"reason": "CrashLoopBackOff"}}},
    ]});
    check(crashing, Some("a container waits: CrashLoopBackOff"));
    let unscheduled = json!({"phase": "Pending", "conditions": [
        {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "no node"},
    ]});
    check(unscheduled, Some("Unschedulable: no node"));
}

#[test]
fn other_built_in_kinds() {
    check("v1", "ConfigMap", json!({}), None);
    check(
        "v1",
        "Service",
        json!({"spec": {"type": "ClusterIP"}}),
        None,
    );
    let balanced = json!({"spec": {"type": "LoadBalancer", "clusterIP": "10.0.0.1"}});
    check("v1", "Service", balanced, None);
    let unbound = json!({"spec": {"type": "LoadBalancer"}});
    check("v1", "Service", unbound, Some("it has no cluster IP yet"));
    check(
        "v1",
        "PersistentVolumeClaim",
        json!({"status": {"phase": "Bound"}}),
        None,
    );
    let pending = json!({"status": {"phase": "Pending"}});
    check(
        "v1",
        "PersistentVolumeClaim",
        pending,
        Some("it is pending"),
    );
    let crd = "CustomResourceDefinition";
    let established =
        json!({"status": {"conditions": [{"type": "Established", "status": "True"}]}});
    check("apiextensions.k8s.io/v1", crd, established, None);
    check(
        "apiextensions.k8s.io/v1",
        crd,
        json!({}),
        Some("it is not established yet"),
    );
}

#[test]
fn custom_kinds_speak_by_their_conditions() {
    let check = |conditions: Value, expected: Option<&str>| {
        let object = json!({"status": {"conditions": conditions}});
        check("example.com/v1", "Web", object, expected);
    };
    check(json!([]), None);
    check(json!([{"type": "Ready", "status": "True"}]), None);
    check(json!([{"type": "Available", "status": "True"}]), None);
    let unknown = json!([{"type": "Ready", "status": "Unknown", "reason": "Waiting"}]);
    check(unknown, Some("Waiting"));
    let both = json!([
        {"type": "Ready", "status": "True"},
        {"type": "Reconciling", "status": "True", "message": "on it"},
    ]);
    check(both, Some("reconciling: on it"));
    check(
        json!([{"type": "Available", "status": "False"}]),
        Some("it is not ready"),
    );
}
