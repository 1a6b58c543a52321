//! Completes a new Pod: the first status, the token of the ServiceAccount, tolerations, and the priority.
//!
//! <https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/>

use serde_json::{Value, json};

use super::super::quantity::Quantity;

/// The directory in which containers find the token of their ServiceAccount.
const TOKEN_PATH: &str = "/var/run/secrets/kubernetes.io/serviceaccount";

pub(super) fn prepare(object: &mut Value) {
    object["status"] = json!({"phase": "Pending", "qosClass": quality_of_service(&object["spec"])});
    if object["spec"]["schedulingGates"].is_array() {
        object["status"]["conditions"] = json!([{
            "type": "PodScheduled",
            "status": "False",
            "reason": "SchedulingGated",
            "message": "Scheduling is blocked due to non-empty scheduling gates",
            "lastProbeTime": null,
            "lastTransitionTime": null,
        }]);
    }
    service_account(object);
    let spec = &mut object["spec"];
    tolerate(spec);
    if spec["priority"].is_null() && spec["priorityClassName"].is_null() {
        spec["priority"] = json!(0);
        spec["preemptionPolicy"] = json!("PreemptLowerPriority");
    }
}

pub(super) fn tolerate(spec: &mut Value) {
    for taint in [
        "node.kubernetes.io/not-ready",
        "node.kubernetes.io/unreachable",
    ] {
        let tolerations = &mut spec["tolerations"];
        if !tolerations.is_array() {
            *tolerations = json!([]);
        }
        let tolerated = |one: &Value| {
            let key = one["key"].as_str().unwrap_or_default();
            let effect = one["effect"].as_str().unwrap_or_default();
            (key == taint || key.is_empty()) && (effect == "NoExecute" || effect.is_empty())
        };
        if let Value::Array(list) = tolerations
            && !list.iter().any(tolerated)
        {
            list.push(json!({
                "key": taint,
                "operator": "Exists",
                "effect": "NoExecute",
                "tolerationSeconds": 300,
            }));
        }
    }
}

fn service_account(object: &mut Value) {
    let spec = &mut object["spec"];
    if spec["serviceAccountName"].is_null() {
        spec["serviceAccountName"] = json!("default");
    }
    spec["serviceAccount"] = spec["serviceAccountName"].clone();
    if spec["automountServiceAccountToken"] == json!(false) {
        return;
    }
    let volume = format!("kube-api-access-{}", suffix());
    let mut mounted = false;
    for list in ["initContainers", "containers"] {
        let Value::Array(containers) = &mut spec[list] else {
            continue;
        };
        for container in containers {
            mounted |= mount(container, &volume);
        }
    }
    if mounted {
        push(&mut spec["volumes"], token_volume(&volume));
    }
    if let Value::Object(map) = spec {
        map.retain(|_, value| !value.is_null());
    }
}

/// Returns five random characters like the API server: no vowels, and no letters that are easily confused.
fn suffix() -> String {
    const ALPHABET: &[u8] = b"bcdfghjklmnpqrstvwxz2456789";
    let letter = |_| char::from(ALPHABET[rand::random_range(0..ALPHABET.len())]);
    (0..5).map(letter).collect()
}

fn mount(container: &mut Value, volume: &str) -> bool {
    let mounts = &mut container["volumeMounts"];
    let has_one = |mounts: &Vec<Value>| mounts.iter().any(|one| one["mountPath"] == TOKEN_PATH);
    if mounts.as_array().is_some_and(has_one) {
        return false;
    }
    push(
        mounts,
        json!({"name": volume, "readOnly": true, "mountPath": TOKEN_PATH}),
    );
    true
}

fn push(list: &mut Value, item: Value) {
    match list {
        Value::Array(items) => items.push(item),
        other => *other = Value::Array(vec![item]),
    }
}

fn token_volume(name: &str) -> Value {
    let namespace = json!({
        "path": "namespace",
        "fieldRef": {"apiVersion": "v1", "fieldPath": "metadata.namespace"},
    });
    let ca = json!({"key": "ca.crt", "path": "ca.crt"});
    json!({"name": name, "projected": {"defaultMode": 420, "sources": [
        {"serviceAccountToken": {"expirationSeconds": 3607, "path": "token"}},
        {"configMap": {"name": "kube-root-ca.crt", "items": [ca]}},
        {"downwardAPI": {"items": [namespace]}},
    ]}})
}

/// Returns the quality of service class of a `PodSpec` (`Guaranteed`, `Burstable` or `BestEffort`), which
/// depends on the resources of its containers.
///
/// <https://kubernetes.io/docs/concepts/workloads/pods/pod-qos/>
fn quality_of_service(spec: &Value) -> &'static str {
    let containers = ["containers", "initContainers"].into_iter();
    let containers: Vec<&Value> = containers
        .filter_map(|list| spec[list].as_array())
        .flatten()
        .collect();
    let amount = |container: &Value, list: &str, name: &str| {
        let text = container["resources"][list][name].as_str()?;
        let amount = text.parse::<Quantity>().ok()?.nano();
        (amount != 0).then_some(amount)
    };
    let names = ["cpu", "memory"];
    let asks = |container: &&Value| {
        let any = |list| {
            names
                .iter()
                .any(|name| amount(container, list, name).is_some())
        };
        any("requests") || any("limits")
    };
    let guaranteed = |container: &&Value| {
        names.iter().all(|name| {
            let limit = amount(container, "limits", name);
            let request = amount(container, "requests", name).or(limit);
            limit.is_some() && limit == request
        })
    };
    if containers.iter().all(guaranteed) && !containers.is_empty() {
        "Guaranteed"
    } else if containers.iter().any(asks) {
        "Burstable"
    } else {
        "BestEffort"
    }
}
