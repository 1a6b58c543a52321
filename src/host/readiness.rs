//! Readiness of objects, by the rules of kstatus for each kind.
//!
//! Pure: a function of the object. Two differences from kstatus: a Job is ready when it is complete,
//! not when it has started, because what waits for a Job waits for its work; and objects of other
//! kinds are also judged by a condition `Available` where they have no `Ready`.

use serde_json::Value;

/// Returns the reason that an object is not ready, for people; `None` if it is ready.
pub fn not_ready(object: &Value) -> Option<String> {
    if !object["metadata"]["deletionTimestamp"].is_null() {
        return Some("it is being deleted".to_owned());
    }
    generation(object).or_else(|| {
        let group = object["apiVersion"]
            .as_str()
            .and_then(|v| v.split_once('/'));
        let group = group.map_or("", |(group, _)| group);
        match (group, object["kind"].as_str().unwrap_or_default()) {
            ("apps", "Deployment") => deployment(object),
            ("apps", "StatefulSet") => stateful_set(object),
            ("apps", "DaemonSet") => daemon_set(object),
            ("apps", "ReplicaSet") => replica_set(object),
            ("batch", "Job") => job(object),
            ("", "Pod") => pod(object),
            ("", "Service") => service(object),
            ("", "PersistentVolumeClaim") => phase(object, &["Bound"]),
            ("", "Namespace") => phase(object, &["Active"]),
            ("apiextensions.k8s.io", "CustomResourceDefinition") => definition(object),
            _ => conditions(object),
        }
    })
}

/// Returns the reason that a status is outdated: its controller has not observed the latest generation.
fn generation(object: &Value) -> Option<String> {
    let observed = object["status"]["observedGeneration"].as_i64()?;
    let generation = object["metadata"]["generation"]
        .as_i64()
        .unwrap_or(observed);
    (observed != generation)
        .then(|| format!("generation {generation} is not observed yet, only {observed}"))
}

/// Returns the text of the first problem that exists.
fn first<const N: usize>(problems: [(bool, String); N]) -> Option<String> {
    problems
        .into_iter()
        .find(|(holds, _)| *holds)
        .map(|(_, text)| text)
}

fn spec_replicas(object: &Value) -> i64 {
    object["spec"]["replicas"].as_i64().unwrap_or(1)
}

fn count(object: &Value, field: &str) -> i64 {
    object["status"][field].as_i64().unwrap_or(0)
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a Value> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions
        .iter()
        .find(|condition| condition["type"] == kind)
}

fn is(object: &Value, kind: &str, status: &str) -> bool {
    condition(object, kind).is_some_and(|condition| condition["status"] == status)
}

/// Reason and message of a condition, as far as there are any.
fn words(condition: &Value) -> String {
    let words = ["reason", "message"].map(|field| condition[field].as_str().unwrap_or_default());
    let words: Vec<_> = words.into_iter().filter(|word| !word.is_empty()).collect();
    words.join(": ")
}

fn deployment(object: &Value) -> Option<String> {
    let wanted = spec_replicas(object);
    let [all, updated, ready, available] = [
        "replicas",
        "updatedReplicas",
        "readyReplicas",
        "availableReplicas",
    ]
    .map(|f| count(object, f));
    let progressing = condition(object, "Progressing");
    let stuck = progressing.is_some_and(|c| c["reason"] == "ProgressDeadlineExceeded");
    // Without a deadline there is no condition of progress.
    let progressed = object["spec"]["progressDeadlineSeconds"].is_null()
        || progressing
            .is_some_and(|c| c["status"] == "True" && c["reason"] == "NewReplicaSetAvailable");
    first([
        (stuck, "it exceeded its progress deadline".to_owned()),
        (
            object["status"]["observedGeneration"].is_null(),
            "it is not observed yet".to_owned(),
        ),
        (all < wanted, format!("{all} of {wanted} replicas exist")),
        (
            updated < wanted,
            format!("{updated} of {wanted} replicas are updated"),
        ),
        (
            all > wanted,
            format!("{} old replicas are terminating", all - wanted),
        ),
        (
            available < updated,
            format!("{available} of {updated} replicas are available"),
        ),
        (
            ready < wanted,
            format!("{ready} of {wanted} replicas are ready"),
        ),
        (
            !progressed,
            "its new ReplicaSet is not available".to_owned(),
        ),
        (
            !is(object, "Available", "True"),
            "it is not available".to_owned(),
        ),
    ])
}

fn stateful_set(object: &Value) -> Option<String> {
    if object["spec"]["updateStrategy"]["type"] == "OnDelete" {
        return None;
    }
    let wanted = spec_replicas(object);
    let [all, updated, ready] =
        ["replicas", "updatedReplicas", "readyReplicas"].map(|f| count(object, f));
    let partition = object["spec"]["updateStrategy"]["rollingUpdate"]["partition"]
        .as_i64()
        .unwrap_or(0);
    let due = (wanted - partition).max(0);
    let revision = |field: &str| &object["status"][field];
    let mixed = partition == 0 && revision("currentRevision") != revision("updateRevision");
    first([
        (
            object["status"]["observedGeneration"].is_null(),
            "it is not observed yet".to_owned(),
        ),
        (all < wanted, format!("{all} of {wanted} replicas exist")),
        (
            ready < wanted,
            format!("{ready} of {wanted} replicas are ready"),
        ),
        (
            all > wanted,
            format!("{} surplus replicas are terminating", all - wanted),
        ),
        (
            partition > 0 && updated < due,
            format!("{updated} of {due} replicas are updated"),
        ),
        (mixed, format!("{updated} of {wanted} replicas are updated")),
    ])
}

fn daemon_set(object: &Value) -> Option<String> {
    let status = &object["status"];
    let wanted = count(object, "desiredNumberScheduled");
    let [current, updated, available, ready] = [
        "currentNumberScheduled",
        "updatedNumberScheduled",
        "numberAvailable",
        "numberReady",
    ]
    .map(|f| count(object, f));
    let unobserved =
        status["observedGeneration"].is_null() || status["desiredNumberScheduled"].is_null();
    first([
        (unobserved, "it is not observed yet".to_owned()),
        (
            current < wanted,
            format!("{current} of {wanted} Pods exist"),
        ),
        (
            updated < wanted,
            format!("{updated} of {wanted} Pods are updated"),
        ),
        (
            available < wanted,
            format!("{available} of {wanted} Pods are available"),
        ),
        (
            ready < wanted,
            format!("{ready} of {wanted} Pods are ready"),
        ),
    ])
}

fn replica_set(object: &Value) -> Option<String> {
    let wanted = spec_replicas(object);
    let [all, labelled, available, ready] = [
        "replicas",
        "fullyLabeledReplicas",
        "availableReplicas",
        "readyReplicas",
    ]
    .map(|f| count(object, f));
    let failure = condition(object, "ReplicaFailure").filter(|c| c["status"] == "True");
    first([
        (
            failure.is_some(),
            format!("replicas fail: {}", failure.map(words).unwrap_or_default()),
        ),
        (
            object["status"]["observedGeneration"].is_null(),
            "it is not observed yet".to_owned(),
        ),
        (
            labelled < wanted,
            format!("{labelled} of {wanted} replicas exist"),
        ),
        (
            available < wanted,
            format!("{available} of {wanted} replicas are available"),
        ),
        (
            ready < wanted,
            format!("{ready} of {wanted} replicas are ready"),
        ),
        (
            all > wanted,
            format!("{} surplus replicas are terminating", all - wanted),
        ),
    ])
}

fn job(object: &Value) -> Option<String> {
    if is(object, "Complete", "True") {
        return None;
    }
    if let Some(failed) = condition(object, "Failed").filter(|c| c["status"] == "True") {
        return Some(format!("it failed: {}", words(failed)));
    }
    let wanted = object["spec"]["completions"].as_i64().unwrap_or(1);
    Some(format!(
        "{} of {wanted} completions",
        count(object, "succeeded")
    ))
}

fn pod(object: &Value) -> Option<String> {
    let status = &object["status"];
    match status["phase"].as_str().unwrap_or_default() {
        "Succeeded" => None,
        "Running" if is(object, "Ready", "True") => None,
        "Failed" => Some(format!("it failed: {}", words(status))),
        phase => {
            let waiting = status["containerStatuses"].as_array().into_iter().flatten();
            let reason = waiting
                .filter_map(|container| container["state"]["waiting"]["reason"].as_str())
                .find(|reason| !matches!(*reason, "ContainerCreating" | "PodInitializing"));
            let unscheduled = condition(object, "PodScheduled").filter(|c| c["status"] == "False");
            Some(match (reason, unscheduled) {
                (Some(reason), _) => format!("a container waits: {reason}"),
                (None, Some(condition)) => words(condition),
                (None, None) if phase.is_empty() => "it has no status yet".to_owned(),
                (None, None) if phase == "Running" => "it runs and is not ready".to_owned(),
                (None, None) => format!("it is {}", phase.to_lowercase()),
            })
        }
    }
}

fn service(object: &Value) -> Option<String> {
    let waits = object["spec"]["type"] == "LoadBalancer"
        && object["spec"]["clusterIP"]
            .as_str()
            .unwrap_or_default()
            .is_empty();
    waits.then(|| "it has no cluster IP yet".to_owned())
}

fn phase(object: &Value, good: &[&str]) -> Option<String> {
    let phase = object["status"]["phase"]
        .as_str()
        .unwrap_or("without a status");
    (!good.contains(&phase)).then(|| format!("it is {}", phase.to_lowercase()))
}

fn definition(object: &Value) -> Option<String> {
    if let Some(refused) = condition(object, "NamesAccepted").filter(|c| c["status"] == "False") {
        return Some(format!("its names are not accepted: {}", words(refused)));
    }
    (!is(object, "Established", "True")).then(|| "it is not established yet".to_owned())
}

/// Other kinds: a condition that says how it is, where there is one.
fn conditions(object: &Value) -> Option<String> {
    for (kind, bad) in [("Stalled", "True"), ("Reconciling", "True")] {
        if let Some(condition) = condition(object, kind).filter(|c| c["status"] == bad) {
            return Some(format!("{}: {}", kind.to_lowercase(), words(condition)));
        }
    }
    let condition = condition(object, "Ready").or_else(|| condition(object, "Available"))?;
    (condition["status"] != "True").then(|| match words(condition) {
        words if words.is_empty() => "it is not ready".to_owned(),
        words => words,
    })
}

#[cfg(test)]
mod tests;
