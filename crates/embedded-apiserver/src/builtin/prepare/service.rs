//! Prepares updates of Services: keeps allocated fields that the client omits, and removes fields that a
//! change of the type makes obsolete.
//!
//! Addresses and ports are allocated once. An update with the manifest of the creation keeps them.

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::super::path::{items, text};

/// A field that only some types have, and the test for those types.
type Dependent = (&'static str, fn(&Value) -> bool);

const DEPENDENT: [Dependent; 7] = [
    ("clusterIP", has_address),
    ("clusterIPs", has_address),
    ("ipFamilies", has_address),
    ("ipFamilyPolicy", has_address),
    ("healthCheckNodePort", has_health_port),
    ("loadBalancerClass", is_balanced),
    ("allocateLoadBalancerNodePorts", is_balanced),
];

/// Prepares a Service that replaces `old`.
pub(super) fn prepare_for_update(object: &mut Value, old: &Value) {
    let (spec, old) = (&mut object["spec"], &old["spec"]);
    follow_address(spec, old);
    keep_allocated(spec, old);
    drop_dependent(spec, old);
    if !is_balanced(spec) {
        object["status"]["loadBalancer"] = json!({});
    }
}

/// Updates the list of addresses if a client changed only the single address.
fn follow_address(spec: &mut Value, old: &Value) {
    let (address, before) = (text(spec, &["clusterIP"]), text(old, &["clusterIP"]));
    let same = items(&spec["clusterIPs"]) == items(&old["clusterIPs"]);
    if address == before || !same {
        return;
    }
    spec["clusterIPs"] = match address {
        "" => Value::Null,
        address => json!([address]),
    };
}

fn keep_allocated(spec: &mut Value, old: &Value) {
    if has_address(spec) && has_address(old) {
        if text(spec, &["clusterIP"]).is_empty() {
            spec["clusterIP"] = old["clusterIP"].clone();
        }
        if items(&spec["clusterIPs"]).is_empty() {
            spec["clusterIPs"] = old["clusterIPs"].clone();
        }
    }
    if has_ports(spec) && has_ports(old) {
        keep_ports(spec, old);
    }
    if has_health_port(spec) && has_health_port(old) && spec["healthCheckNodePort"].is_null() {
        spec["healthCheckNodePort"] = old["healthCheckNodePort"].clone();
    }
}

/// Keeps the node port of a port with the same name, unless another port has taken it.
fn keep_ports(spec: &mut Value, old: &Value) {
    let taken = node_ports(spec);
    let Some(Value::Array(ports)) = spec.get_mut("ports") else {
        return;
    };
    for port in ports.iter_mut().filter(|port| number(port) == 0) {
        let name = text(port, &["name"]);
        let mut before = items(&old["ports"]).iter();
        let before = before.rfind(|one| text(one, &["name"]) == name);
        if let Some(kept) = before
            .map(number)
            .filter(|one| *one != 0 && !taken.contains(one))
        {
            port["nodePort"] = kept.into();
        }
    }
}

/// Removes fields that the new type does not have, if the client did not change them.
fn drop_dependent(spec: &mut Value, old: &Value) {
    let untouched = |spec: &Value, field: &str| spec[field] == old[field];
    let same_addresses = untouched(spec, "clusterIP") && untouched(spec, "clusterIPs");
    let (was_exposed, is_exposed) = (is_exposed(old), is_exposed(spec));
    let mut gone: Vec<&str> = Vec::new();
    for (field, applies) in DEPENDENT {
        let same = match field {
            "clusterIP" | "clusterIPs" => same_addresses,
            field => untouched(spec, field),
        };
        if applies(old) && !applies(spec) && same {
            gone.push(field);
        }
    }
    if was_exposed && !is_exposed && untouched(spec, "externalTrafficPolicy") {
        gone.push("externalTrafficPolicy");
    }
    let typed = |spec: &Value| matches!(kind(spec), "NodePort" | "LoadBalancer");
    if typed(old)
        && !typed(spec)
        && node_ports(spec).is_subset(&node_ports(old))
        && let Some(Value::Array(ports)) = spec.get_mut("ports")
    {
        for port in ports.iter_mut().filter_map(Value::as_object_mut) {
            port.remove("nodePort");
        }
    }
    if let Value::Object(fields) = spec {
        fields.retain(|field, _| !gone.contains(&field.as_str()));
    }
}

fn kind(spec: &Value) -> &str {
    text(spec, &["type"])
}

fn has_address(spec: &Value) -> bool {
    kind(spec) != "ExternalName"
}

fn is_balanced(spec: &Value) -> bool {
    kind(spec) == "LoadBalancer"
}

fn has_ports(spec: &Value) -> bool {
    kind(spec) == "NodePort"
        || is_balanced(spec) && spec["allocateLoadBalancerNodePorts"] != json!(false)
}

fn has_health_port(spec: &Value) -> bool {
    is_balanced(spec) && text(spec, &["externalTrafficPolicy"]) == "Local"
}

/// Returns whether the Service is reachable from outside the cluster.
fn is_exposed(spec: &Value) -> bool {
    matches!(kind(spec), "NodePort" | "LoadBalancer")
        || kind(spec) == "ClusterIP" && !items(&spec["externalIPs"]).is_empty()
}

fn number(port: &Value) -> i64 {
    port["nodePort"].as_i64().unwrap_or_default()
}

fn node_ports(spec: &Value) -> BTreeSet<i64> {
    let numbers = items(&spec["ports"]).iter().map(number);
    numbers.filter(|one| *one != 0).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn updated(spec: &Value, old: &Value) -> Value {
        let mut object = json!({"spec": spec});
        prepare_for_update(&mut object, &json!({"spec": old}));
        object["spec"].take()
    }

    fn old() -> Value {
        json!({
            "type": "NodePort", "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"],
            "externalTrafficPolicy": "Cluster",
            "ports": [{"name": "a", "port": 1, "nodePort": 30001}, {"name": "b", "port": 2, "nodePort": 30002}],
        })
    }

    #[test]
    fn allocated_values_stay_when_an_update_omits_them() {
        let again = json!({"type": "NodePort", "externalTrafficPolicy": "Cluster", "ports": [
            {"name": "b", "port": 3}, {"name": "a", "port": 1, "nodePort": 30002}, {"name": "c", "port": 4},
        ]});
        let kept = updated(&again, &old());
        assert_eq!(kept["clusterIPs"], json!(["10.96.0.9"]));
        assert_eq!(kept["clusterIP"], "10.96.0.9");
        // Another port has taken the node port of this one.
        assert_eq!(kept["ports"][0], json!({"name": "b", "port": 3}));
        assert_eq!(kept["ports"][1]["nodePort"], 30002);
        assert_eq!(kept["ports"][2], json!({"name": "c", "port": 4}));
    }

    #[test]
    fn another_type_drops_what_it_has_no_use_for() {
        let mut plain = old();
        plain["type"] = json!("ClusterIP");
        let kept = updated(&plain, &old());
        assert_eq!(kept["clusterIP"], "10.96.0.9");
        assert_eq!(kept.get("externalTrafficPolicy"), None);
        assert_eq!(kept["ports"][0], json!({"name": "a", "port": 1}));
        plain["ports"][0]["nodePort"] = json!(30007);
        plain["externalTrafficPolicy"] = json!("Local");
        let touched = updated(&plain, &old());
        assert_eq!(touched["ports"][0]["nodePort"], 30007);
        assert_eq!(touched["externalTrafficPolicy"], "Local");
        let mut named = old();
        named["type"] = json!("ExternalName");
        assert_eq!(updated(&named, &old()).get("clusterIPs"), None);
    }

    #[test]
    fn load_balancer_fields_are_removed_with_the_type() {
        let mut balanced = old();
        balanced["type"] = json!("LoadBalancer");
        balanced["allocateLoadBalancerNodePorts"] = json!(true);
        balanced["externalTrafficPolicy"] = json!("Local");
        balanced["healthCheckNodePort"] = json!(30_009);
        let mut plain = balanced.clone();
        plain["type"] = json!("ClusterIP");
        let kept = updated(&plain, &balanced);
        let ports = json!([{"name": "a", "port": 1}, {"name": "b", "port": 2}]);
        let wanted = json!({
            "type": "ClusterIP", "clusterIP": "10.96.0.9", "clusterIPs": ["10.96.0.9"],
            "ports": ports,
        });
        assert_eq!(kept, wanted);
    }

    #[test]
    fn the_list_of_addresses_follows_the_one() {
        let mut other = old();
        other["clusterIP"] = json!("10.96.0.8");
        assert_eq!(updated(&other, &old())["clusterIPs"], json!(["10.96.0.8"]));
        let mut cleared = old();
        cleared["clusterIP"] = json!("");
        assert_eq!(updated(&cleared, &old())["clusterIP"], "10.96.0.9");
    }
}
