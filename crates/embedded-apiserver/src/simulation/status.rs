//! The status of Pods as the kubelet reports it.

use serde_json::{Value, json};

use super::condition;
use super::node::ADDRESS as HOST;
use crate::builtin::path::{items, text};

/// Returns the status of a Pod whose containers run.
pub(super) fn running(pod: &Value, address: &str, ready: bool, now: &str) -> Value {
    let mut status = begun(pod, address, now);
    let started = started(pod, now);
    status["phase"] = json!("Running");
    status["containerStatuses"] = containers(
        pod,
        "containers",
        |_| json!({"ready": ready, "started": true, "state": {"running": {"startedAt": started}}}),
    );
    conditions(&mut status, pod, ready, "ContainersNotReady", now);
    status
}

/// Returns the status of a Pod whose containers wait for a reason.
pub(super) fn waiting(pod: &Value, reason: &str, now: &str) -> Value {
    let mut status = begun(pod, "", now);
    status["phase"] = json!("Pending");
    status["containerStatuses"] = containers(pod, "containers", |container| {
        let image = text(container, &["image"]);
        let message = format!("Back-off pulling image {image:?}");
        let waiting = json!({"reason": reason, "message": message});
        json!({"ready": false, "started": false, "state": {"waiting": waiting}})
    });
    conditions(&mut status, pod, false, "ContainersNotReady", now);
    status
}

/// Returns the status of a Pod whose containers crash repeatedly.
pub(super) fn crashing(pod: &Value, address: &str, now: &str) -> Value {
    let mut status = begun(pod, address, now);
    status["phase"] = json!("Running");
    let started = started(pod, now);
    status["containerStatuses"] = containers(pod, "containers", |container| {
        let name = text(container, &["name"]);
        let message = format!("back-off 5m0s restarting failed container={name}");
        let ended = json!({
            "exitCode": 1,
            "reason": "Error",
            "startedAt": started,
            "finishedAt": started,
        });
        json!({
            "ready": false,
            "started": false,
            "restartCount": 5,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": message}},
            "lastState": {"terminated": ended},
        })
    });
    conditions(&mut status, pod, false, "ContainersNotReady", now);
    status
}

/// Returns the status of a Pod whose containers have ended.
pub(super) fn ended(pod: &Value, address: &str, exit_code: i64, now: &str) -> Value {
    let mut status = begun(pod, address, now);
    let good = exit_code == 0;
    status["phase"] = json!(if good { "Succeeded" } else { "Failed" });
    let started = started(pod, now);
    status["containerStatuses"] = containers(pod, "containers", |_| {
        let ended = json!({
            "exitCode": exit_code,
            "reason": if good { "Completed" } else { "Error" },
            "startedAt": started,
            "finishedAt": now,
        });
        json!({"ready": false, "started": false, "state": {"terminated": ended}})
    });
    let reason = if good { "PodCompleted" } else { "PodFailed" };
    conditions(&mut status, pod, false, reason, now);
    status
}

fn started(pod: &Value, now: &str) -> String {
    let given = text(pod, &["status", "startTime"]);
    let started = if given.is_empty() { now } else { given };
    started.to_owned()
}

/// Returns a status with addresses, a start time, and completed init containers.
fn begun(pod: &Value, address: &str, now: &str) -> Value {
    let mut status = pod["status"].clone();
    let started = started(pod, now);
    status["hostIP"] = json!(HOST);
    status["hostIPs"] = json!([{"ip": HOST}]);
    if !address.is_empty() {
        status["podIP"] = json!(address);
        status["podIPs"] = json!([{"ip": address}]);
    }
    status["startTime"] = json!(started);
    if !items(&pod["spec"]["initContainers"]).is_empty() {
        status["initContainerStatuses"] = containers(pod, "initContainers", |container| {
            if container["restartPolicy"] == "Always" {
                let running = json!({"startedAt": started});
                return json!({"ready": true, "started": true, "state": {"running": running}});
            }
            let ended = json!({
                "exitCode": 0,
                "reason": "Completed",
                "startedAt": started,
                "finishedAt": started,
            });
            json!({"ready": true, "started": false, "state": {"terminated": ended}})
        });
    }
    status
}

/// Returns the status of each container: the common fields, and those that `of` returns.
fn containers(pod: &Value, list: &str, of: impl Fn(&Value) -> Value) -> Value {
    let one = |container: &Value| {
        let mut status = json!({
            "name": container["name"],
            "image": container["image"],
            "imageID": "",
            "restartCount": 0,
            "lastState": {},
        });
        if let (Value::Object(status), Value::Object(more)) = (&mut status, of(container)) {
            status.extend(more);
        }
        status
    };
    items(&pod["spec"][list]).iter().map(one).collect()
}

/// Sets the conditions of a Pod that has started.
fn conditions(status: &mut Value, pod: &Value, ready: bool, reason: &str, now: &str) {
    let names: Vec<&str> = items(&pod["spec"]["containers"])
        .iter()
        .map(|container| text(container, &["name"]))
        .collect();
    let scheduled = condition::find(status, "PodScheduled").cloned();
    let given = |kind: &str, holds: bool| {
        let mut made = json!({
            "type": kind,
            "status": if holds { "True" } else { "False" },
            "lastProbeTime": null,
            "lastTransitionTime": now,
        });
        if !holds {
            made["reason"] = json!(reason);
            if reason == "ContainersNotReady" {
                let names = names.join(" ");
                made["message"] = json!(format!("containers with unready status: [{names}]"));
            }
        }
        made
    };
    let phase = text(status, &["phase"]).to_owned();
    let sandbox = phase == "Running" || phase == "Pending";
    condition::set(status, given("PodReadyToStartContainers", sandbox));
    condition::set(status, given("Initialized", true));
    condition::set(status, given("Ready", ready));
    condition::set(status, given("ContainersReady", ready));
    if let Some(scheduled) = scheduled {
        if let Value::Array(list) = &mut status["conditions"] {
            list.retain(|one| one["type"] != "PodScheduled");
        }
        condition::set(status, scheduled);
    }
    for gate in items(&pod["spec"]["readinessGates"]) {
        condition::set(status, given(text(gate, &["conditionType"]), true));
    }
}
