//! Services: Endpoints and EndpointSlices of the selected Pods, and addresses of load balancers.

use std::sync::Arc;

use serde_json::{Value, json};

use super::objects::{
    controlled, create, is_terminating, labels, name, namespace, number, owner_reference, selects,
    uid, update, write_status,
};
use super::pod::{is_finished, is_ready};
use crate::builtin::path::{items, text};
use crate::registry::Transaction;

const SLICES: &str = "endpointslices.discovery.k8s.io";

pub(super) fn sync(tx: &mut Transaction<'_>, service: &Value) {
    if is_terminating(service) {
        return;
    }
    balance(tx, service);
    let selector = service["spec"]["selector"].as_object();
    if text(service, &["spec", "type"]) == "ExternalName" || selector.is_none() {
        return;
    }
    let mut pods = tx.list("pods", Some(namespace(service)));
    pods.retain(|pod| {
        let has_address = !text(pod, &["status", "podIP"]).is_empty();
        has_address && !is_finished(pod) && selects(service, labels(pod))
    });
    write_slice(tx, service, &pods);
    write_endpoints(tx, service, &pods);
}

/// Sets the address of a Service of type `LoadBalancer`, from the range that is reserved for documentation.
fn balance(tx: &mut Transaction<'_>, service: &Value) {
    let balanced = text(service, &["spec", "type"]) == "LoadBalancer";
    let given = items(&service["status"]["loadBalancer"]["ingress"]);
    if !balanced || !given.is_empty() {
        return;
    }
    let cluster = text(service, &["spec", "clusterIP"]);
    let last = cluster.rsplit('.').next().unwrap_or_default();
    let mut status = service["status"].clone();
    let ingress = json!([{"ip": format!("203.0.113.{last}"), "ipMode": "VIP"}]);
    status["loadBalancer"] = json!({"ingress": ingress});
    write_status(tx, "services", service, status);
}

/// Returns the ports of a Service with the numbers of a Pod. The number of a named port can differ between
/// Pods.
fn ports(service: &Value, pod: Option<&Value>) -> Vec<Value> {
    let number_of = |port: &Value| match &port["targetPort"] {
        Value::String(wanted) => {
            let containers = pod.map_or(&[][..], |pod| items(&pod["spec"]["containers"]));
            let mut ports = containers.iter().flat_map(|one| items(&one["ports"]));
            let found = ports.find(|one| text(one, &["name"]) == wanted);
            found.map(|one| number(one, &["containerPort"]))
        }
        target => target.as_i64(),
    };
    let made = |port: &Value| {
        Some(json!({
            "name": text(port, &["name"]),
            "port": number_of(port)?,
            "protocol": port["protocol"],
        }))
    };
    items(&service["spec"]["ports"])
        .iter()
        .filter_map(made)
        .collect()
}

fn target(pod: &Value) -> Value {
    json!({
        "kind": "Pod",
        "name": name(pod),
        "namespace": namespace(pod),
        "uid": uid(pod),
    })
}

fn write_slice(tx: &mut Transaction<'_>, service: &Value, pods: &[Arc<Value>]) {
    let endpoint = |pod: &Arc<Value>| {
        let (ready, terminating) = (is_ready(pod), is_terminating(pod));
        json!({
            "addresses": [text(pod, &["status", "podIP"])],
            "conditions": {
                "ready": ready && !terminating,
                "serving": ready,
                "terminating": terminating,
            },
            "nodeName": pod["spec"]["nodeName"],
            "targetRef": target(pod),
        })
    };
    let endpoints: Value = pods.iter().map(endpoint).collect();
    let endpoints = if pods.is_empty() {
        Value::Null
    } else {
        endpoints
    };
    let ports = json!(ports(service, pods.first().map(|pod| &**pod)));
    let ports = if pods.is_empty() { Value::Null } else { ports };
    if let Some(slice) = controlled(tx, SLICES, service).first() {
        let mut slice = (**slice).clone();
        slice["endpoints"] = endpoints;
        slice["ports"] = ports;
        update(tx, SLICES, slice);
        return;
    }
    let mut labels = labels(service).clone();
    for (key, value) in [
        (
            "endpointslice.kubernetes.io/managed-by",
            "endpointslice-controller.k8s.io",
        ),
        ("kubernetes.io/service-name", name(service)),
    ] {
        labels[key] = json!(value);
    }
    if text(service, &["spec", "clusterIP"]) == "None" {
        labels["service.kubernetes.io/headless"] = json!("");
    }
    let slice = json!({
        "apiVersion": "discovery.k8s.io/v1",
        "kind": "EndpointSlice",
        "metadata": {
            "generateName": format!("{}-", name(service)),
            "namespace": namespace(service),
            "labels": labels,
            "ownerReferences": [owner_reference(service)],
        },
        "addressType": "IPv4",
        "endpoints": endpoints,
        "ports": ports,
    });
    let _refused = create(tx, SLICES, slice);
}

fn write_endpoints(tx: &mut Transaction<'_>, service: &Value, pods: &[Arc<Value>]) {
    let address = |pod: &&Arc<Value>| {
        json!({
            "ip": text(pod, &["status", "podIP"]),
            "nodeName": pod["spec"]["nodeName"],
            "targetRef": target(pod),
        })
    };
    let unready = service["spec"]["publishNotReadyAddresses"] == json!(true);
    let serves = |pod: &&Arc<Value>| unready || is_ready(pod) && !is_terminating(pod);
    let ready: Vec<Value> = pods
        .iter()
        .filter(serves)
        .map(|pod| address(&pod))
        .collect();
    let waiting = pods
        .iter()
        .filter(|pod| !serves(pod) && !is_terminating(pod));
    let waiting: Vec<Value> = waiting.map(|pod| address(&pod)).collect();
    let mut subset = json!({});
    for (field, list) in [("addresses", ready), ("notReadyAddresses", waiting)] {
        if !list.is_empty() {
            subset[field] = Value::Array(list);
        }
    }
    let mut endpoints = json!({
        "apiVersion": "v1",
        "kind": "Endpoints",
        "metadata": {"name": name(service), "namespace": namespace(service)},
    });
    if subset != json!({}) {
        subset["ports"] = json!(ports(service, pods.first().map(|pod| &**pod)));
        endpoints["subsets"] = json!([subset]);
    }
    let mut labels = labels(service).clone();
    labels["endpoints.kubernetes.io/managed-by"] = json!("endpoint-controller");
    if text(service, &["spec", "clusterIP"]) == "None" {
        labels["service.kubernetes.io/headless"] = json!("");
    }
    endpoints["metadata"]["labels"] = labels;
    match tx.get("endpoints", namespace(service), name(service)) {
        None => {
            let _refused = create(tx, "endpoints", endpoints);
        }
        Some(live) if live["subsets"] == endpoints["subsets"] => {}
        Some(live) => {
            let mut changed = (*live).clone();
            changed["subsets"] = endpoints["subsets"].clone();
            update(tx, "endpoints", changed);
        }
    }
}
