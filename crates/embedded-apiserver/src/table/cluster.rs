//! The table cells of configuration, storage, RBAC and cluster-scoped resources.

use jiff::Timestamp;
use serde_json::{Value, json};

use super::{age, at, joined, list, number, or, size, text};

/// Returns the cells after the name. Absent for other resources.
pub(super) fn cells(id: &str, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let age: Value = age::format_age(object, now).into();
    let phase = text(object, &["status", "phase"]);
    Some(match id {
        "configmaps" => vec![
            json!(size(&object["data"]) + size(&object["binaryData"])),
            age,
        ],
        "secrets" => vec![
            text(object, &["type"]).into(),
            json!(size(&object["data"])),
            age,
        ],
        "serviceaccounts" => vec![age],
        "namespaces" => vec![phase.into(), age],
        "nodes" => node(object, age),
        "events" => event(object, now),
        "leases.coordination.k8s.io" => {
            vec![text(object, &["spec", "holderIdentity"]).into(), age]
        }
        "persistentvolumeclaims" => claim(object, age),
        "persistentvolumes" => volume(object, age),
        "storageclasses.storage.k8s.io" => storage_class(object, age),
        "poddisruptionbudgets.policy" => vec![
            scalar(&object["spec"]["minAvailable"], "N/A").into(),
            scalar(&object["spec"]["maxUnavailable"], "N/A").into(),
            number(object, &["status", "disruptionsAllowed"]).into(),
            age,
        ],
        "horizontalpodautoscalers.autoscaling" => autoscaler(object, age),
        "rolebindings.rbac.authorization.k8s.io"
        | "clusterrolebindings.rbac.authorization.k8s.io" => binding(object, age),
        "priorityclasses.scheduling.k8s.io" => vec![
            number(object, &["value"]).into(),
            (object["globalDefault"] == true).into(),
            age,
            or(text(object, &["preemptionPolicy"]), "PreemptLowerPriority").into(),
        ],
        _ => return None,
    })
}

/// Formats a number or a text.
fn scalar(value: &Value, otherwise: &str) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Number(number) => number.to_string(),
        _ => otherwise.to_owned(),
    }
}

fn node(node: &Value, age: Value) -> Vec<Value> {
    const ROLE: &str = "node-role.kubernetes.io/";
    let ready = list(node, &["status", "conditions"])
        .iter()
        .find(|one| one["type"] == "Ready");
    let mut status = match ready.map(|one| text(one, &["status"])) {
        None => "Unknown",
        Some("True") => "Ready",
        Some(_) => "NotReady",
    }
    .to_owned();
    if node["spec"]["unschedulable"] == true {
        status.push_str(",SchedulingDisabled");
    }
    let labels = node["metadata"]["labels"].as_object();
    let labels = labels.into_iter().flatten();
    let roles = joined(labels.filter_map(|(key, _)| key.strip_prefix(ROLE)));
    let address = |kind: &str| {
        let found = list(node, &["status", "addresses"]);
        let found = found.iter().find(|one| one["type"] == kind);
        or(
            found.map(|one| text(one, &["address"])).unwrap_or_default(),
            "<none>",
        )
        .to_owned()
    };
    let info = |field: &str| text(node, &["status", "nodeInfo", field]);
    vec![
        status.into(),
        or(&roles, "<none>").into(),
        age,
        info("kubeletVersion").into(),
        address("InternalIP").into(),
        address("ExternalIP").into(),
        or(info("osImage"), "<unknown>").into(),
        or(info("kernelVersion"), "<unknown>").into(),
        or(info("containerRuntimeVersion"), "<unknown>").into(),
    ]
}

fn event(event: &Value, now: Timestamp) -> Vec<Value> {
    let of_series = &event["series"]["lastObservedTime"];
    let (first, last) = (&event["firstTimestamp"], &event["lastTimestamp"]);
    let seen = |time: &Value| age::since(time, now);
    let first_seen = if first.is_string() {
        seen(first)
    } else {
        seen(&event["eventTime"])
    };
    let last_seen = if of_series.is_string() {
        seen(of_series)
    } else if last.is_string() {
        seen(last)
    } else {
        first_seen.clone()
    };
    let count = match event["series"]["count"].as_i64() {
        Some(count) => count,
        None => number(event, &["count"]).max(1),
    };
    let kind = text(event, &["involvedObject", "kind"]).to_lowercase();
    let name = text(event, &["involvedObject", "name"]);
    let (component, host) = (
        text(event, &["source", "component"]),
        text(event, &["source", "host"]),
    );
    let source = match host {
        "" => or(component, text(event, &["reportingComponent"])).to_owned(),
        host => format!("{component}, {host}"),
    };
    vec![
        last_seen.into(),
        text(event, &["type"]).into(),
        text(event, &["reason"]).into(),
        format!("{kind}/{name}").into(),
        text(event, &["involvedObject", "fieldPath"]).into(),
        source.into(),
        text(event, &["message"]).trim().into(),
        first_seen.into(),
        count.into(),
    ]
}

/// Formats access modes: `RWO,RWX`.
fn access_modes(object: &Value, path: &[&str]) -> String {
    joined(list(object, path).iter().map(|mode| match mode.as_str() {
        Some("ReadWriteOnce") => "RWO",
        Some("ReadOnlyMany") => "ROX",
        Some("ReadWriteMany") => "RWX",
        Some("ReadWriteOncePod") => "RWOP",
        _ => "",
    }))
}

/// Returns the phase of a volume, or `Terminating`.
fn volume_phase(object: &Value) -> &str {
    if object["metadata"]["deletionTimestamp"].is_string() {
        return "Terminating";
    }
    text(object, &["status", "phase"])
}

fn claim(claim: &Value, age: Value) -> Vec<Value> {
    let volume = text(claim, &["spec", "volumeName"]);
    let (mut capacity, mut modes) = (String::new(), String::new());
    if !volume.is_empty() {
        capacity = scalar(at(claim, &["status", "capacity", "storage"]), "");
        modes = access_modes(claim, &["status", "accessModes"]);
    }
    let attributes = text(claim, &["spec", "volumeAttributesClassName"]);
    vec![
        volume_phase(claim).into(),
        volume.into(),
        capacity.into(),
        modes.into(),
        text(claim, &["spec", "storageClassName"]).into(),
        or(attributes, "<unset>").into(),
        age,
        or(text(claim, &["spec", "volumeMode"]), "<unset>").into(),
    ]
}

fn volume(volume: &Value, age: Value) -> Vec<Value> {
    let claim = &volume["spec"]["claimRef"];
    let claim = if claim.is_object() {
        format!("{}/{}", text(claim, &["namespace"]), text(claim, &["name"]))
    } else {
        String::new()
    };
    let attributes = text(volume, &["spec", "volumeAttributesClassName"]);
    vec![
        scalar(at(volume, &["spec", "capacity", "storage"]), "").into(),
        access_modes(volume, &["spec", "accessModes"]).into(),
        text(volume, &["spec", "persistentVolumeReclaimPolicy"]).into(),
        volume_phase(volume).into(),
        claim.into(),
        text(volume, &["spec", "storageClassName"]).into(),
        or(attributes, "<unset>").into(),
        text(volume, &["status", "reason"]).into(),
        age,
        or(text(volume, &["spec", "volumeMode"]), "<unset>").into(),
    ]
}

fn storage_class(class: &Value, age: Value) -> Vec<Value> {
    vec![
        text(class, &["provisioner"]).into(),
        or(text(class, &["reclaimPolicy"]), "Delete").into(),
        or(text(class, &["volumeBindingMode"]), "Immediate").into(),
        (class["allowVolumeExpansion"] == true).into(),
        age,
    ]
}

fn autoscaler(autoscaler: &Value, age: Value) -> Vec<Value> {
    let target = &autoscaler["spec"]["scaleTargetRef"];
    let least = autoscaler["spec"]["minReplicas"].as_i64();
    vec![
        format!("{}/{}", text(target, &["kind"]), text(target, &["name"])).into(),
        targets(autoscaler).into(),
        least
            .map_or_else(|| "<unset>".to_owned(), |least| least.to_string())
            .into(),
        number(autoscaler, &["spec", "maxReplicas"]).into(),
        number(autoscaler, &["status", "currentReplicas"]).into(),
        age,
    ]
}

fn targets(autoscaler: &Value) -> String {
    let each = list(autoscaler, &["spec", "metrics"]).iter().map(|metric| {
        let name = text(metric, &["resource", "name"]);
        match at(metric, &["resource", "target", "averageUtilization"]).as_i64() {
            Some(percent) => format!("{name}: <unknown>/{percent}%"),
            None => "<unknown type>".to_owned(),
        }
    });
    let text = each.collect::<Vec<_>>().join(", ");
    or(&text, "<none>").to_owned()
}

fn binding(binding: &Value, age: Value) -> Vec<Value> {
    let role = format!(
        "{}/{}",
        text(binding, &["roleRef", "kind"]),
        text(binding, &["roleRef", "name"])
    );
    let subjects = |kind: &str| -> Vec<String> {
        let all = list(binding, &["subjects"]).iter();
        let fit = all.filter(|one| one["kind"] == kind);
        fit.map(|one| match text(one, &["namespace"]) {
            namespace if kind == "ServiceAccount" => {
                format!("{namespace}/{}", text(one, &["name"]))
            }
            _ => text(one, &["name"]).to_owned(),
        })
        .collect()
    };
    vec![
        role.into(),
        age,
        subjects("User").join(", ").into(),
        subjects("Group").join(", ").into(),
        subjects("ServiceAccount").join(", ").into(),
    ]
}
