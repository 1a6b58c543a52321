//! Defaults of Services.

use serde_json::{Map, Value, json};

use super::{absent, text, within};

pub(super) fn service(map: &mut Map<String, Value>) {
    let Some(spec) = within(map, "spec") else {
        return;
    };
    absent(spec, "sessionAffinity", || json!("None"));
    absent(spec, "type", || json!("ClusterIP"));
    affinity(spec);
    if let Some(Value::Array(ports)) = spec.get_mut("ports") {
        for port in ports.iter_mut().filter_map(Value::as_object_mut) {
            target_port(port);
        }
    }
    let kind = text(spec, "type").to_owned();
    let external = matches!(kind.as_str(), "NodePort" | "LoadBalancer")
        || kind == "ClusterIP" && spec.contains_key("externalIPs");
    if external {
        absent(spec, "externalTrafficPolicy", || json!("Cluster"));
    }
    if matches!(kind.as_str(), "NodePort" | "LoadBalancer" | "ClusterIP") {
        absent(spec, "internalTrafficPolicy", || json!("Cluster"));
    }
    if kind == "LoadBalancer" {
        absent(spec, "allocateLoadBalancerNodePorts", || json!(true));
        ip_modes(map);
    }
}

fn affinity(spec: &mut Map<String, Value>) {
    match text(spec, "sessionAffinity") {
        "None" => {
            spec.remove("sessionAffinityConfig");
        }
        "ClientIP" => {
            let config = spec.get("sessionAffinityConfig").unwrap_or(&Value::Null);
            if config["clientIP"]["timeoutSeconds"].is_null() {
                // 10,800 seconds are three hours.
                let config = json!({"clientIP": {"timeoutSeconds": 10_800}});
                spec.insert("sessionAffinityConfig".to_owned(), config);
            }
        }
        _ => {}
    }
}

fn target_port(port: &mut Map<String, Value>) {
    let target = port.get("targetPort").unwrap_or(&Value::Null);
    if target.is_null() || *target == json!(0) || *target == json!("") {
        let number = port.get("port").cloned().unwrap_or_else(|| json!(0));
        port.insert("targetPort".to_owned(), number);
    }
}

fn ip_modes(map: &mut Map<String, Value>) {
    let ingress = map
        .get_mut("status")
        .and_then(|status| status.get_mut("loadBalancer"))
        .and_then(|balancer| balancer.get_mut("ingress"))
        .and_then(Value::as_array_mut);
    for one in ingress
        .into_iter()
        .flatten()
        .filter_map(Value::as_object_mut)
    {
        if !text(one, "ip").is_empty() {
            absent(one, "ipMode", || json!("VIP"));
        }
    }
}
