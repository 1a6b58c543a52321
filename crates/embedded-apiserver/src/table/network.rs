//! The table cells of Services and of resources that route traffic to them.

use jiff::Timestamp;
use serde_json::Value;

use super::{age, at, joined, labels, list, number, or, selector, text};

/// Returns the cells after the name. Absent for other resources.
pub(super) fn cells(id: &str, object: &Value, now: Timestamp) -> Option<Vec<Value>> {
    let age: Value = age::format_age(object, now).into();
    Some(match id {
        "services" => service(object, age),
        "endpoints" => vec![endpoints(object).into(), age],
        "endpointslices.discovery.k8s.io" => vec![
            text(object, &["addressType"]).into(),
            slice_ports(object).into(),
            slice_addresses(object).into(),
            age,
        ],
        "ingresses.networking.k8s.io" => ingress(object, age),
        "ingressclasses.networking.k8s.io" => vec![
            text(object, &["spec", "controller"]).into(),
            parameters(object).into(),
            age,
        ],
        "networkpolicies.networking.k8s.io" => {
            vec![selector(at(object, &["spec", "podSelector"])).into(), age]
        }
        _ => return None,
    })
}

fn service(service: &Value, age: Value) -> Vec<Value> {
    let kind = text(service, &["spec", "type"]);
    vec![
        kind.into(),
        or(text(service, &["spec", "clusterIP"]), "<none>").into(),
        external(service, kind).into(),
        ports(service).into(),
        age,
        labels(&service["spec"]["selector"]).into(),
    ]
}

fn strings<'a>(object: &'a Value, path: &[&str]) -> impl Iterator<Item = &'a str> {
    list(object, path).iter().filter_map(Value::as_str)
}

fn external(service: &Value, kind: &str) -> String {
    let own = joined(strings(service, &["spec", "externalIPs"]));
    match kind {
        "ExternalName" => text(service, &["spec", "externalName"]).to_owned(),
        "LoadBalancer" => {
            let ingress = list(service, &["status", "loadBalancer", "ingress"]).iter();
            let given = ingress.map(|one| or(text(one, &["ip"]), text(one, &["hostname"])));
            let all = joined(given.chain((!own.is_empty()).then_some(&*own)));
            or(&all, "<pending>").to_owned()
        }
        _ => or(&own, "<none>").to_owned(),
    }
}

fn ports(service: &Value) -> String {
    let each = list(service, &["spec", "ports"]).iter().map(|port| {
        let (number_, protocol) = (number(port, &["port"]), text(port, &["protocol"]));
        match number(port, &["nodePort"]) {
            0 => format!("{number_}/{protocol}"),
            node => format!("{number_}:{node}/{protocol}"),
        }
    });
    let text = each.collect::<Vec<_>>().join(",");
    or(&text, "<none>").to_owned()
}

/// Returns at most three values, and the number of the others.
fn shortened(all: &[String]) -> String {
    const SHOWN: usize = 3;
    let mut text = all[..all.len().min(SHOWN)].join(",");
    if all.len() > SHOWN {
        text = format!("{text} + {} more...", all.len() - SHOWN);
    }
    or(&text, "<none>").to_owned()
}

fn endpoints(endpoints: &Value) -> String {
    let mut all = Vec::new();
    for subset in list(endpoints, &["subsets"]) {
        for address in list(subset, &["addresses"]) {
            let address = text(address, &["ip"]);
            let ports = list(subset, &["ports"]).iter();
            let before = all.len();
            all.extend(ports.map(|port| format!("{address}:{}", number(port, &["port"]))));
            if all.len() == before {
                all.push(address.to_owned());
            }
        }
    }
    shortened(&all)
}

fn slice_ports(slice: &Value) -> String {
    let ports = list(slice, &["ports"]);
    if ports.is_empty() {
        return "<unset>".to_owned();
    }
    let all: Vec<String> = ports
        .iter()
        .map(|port| match port["port"].as_i64() {
            Some(number) => number.to_string(),
            None => "*".to_owned(),
        })
        .collect();
    shortened(&all)
}

fn slice_addresses(slice: &Value) -> String {
    let endpoints = list(slice, &["endpoints"]);
    if endpoints.is_empty() {
        return "<unset>".to_owned();
    }
    let all: Vec<String> = endpoints
        .iter()
        .flat_map(|one| strings(one, &["addresses"]))
        .map(str::to_owned)
        .collect();
    shortened(&all)
}

fn ingress(ingress: &Value, age: Value) -> Vec<Value> {
    let hosts: Vec<String> = list(ingress, &["spec", "rules"])
        .iter()
        .map(|rule| text(rule, &["host"]).to_owned())
        .filter(|host| !host.is_empty())
        .collect();
    let hosts = match shortened(&hosts).as_str() {
        "<none>" => "*".to_owned(),
        some => some.to_owned(),
    };
    let addresses = list(ingress, &["status", "loadBalancer", "ingress"]).iter();
    let addresses = joined(addresses.map(|one| or(text(one, &["ip"]), text(one, &["hostname"]))));
    let secured = !list(ingress, &["spec", "tls"]).is_empty();
    vec![
        or(text(ingress, &["spec", "ingressClassName"]), "<none>").into(),
        hosts.into(),
        addresses.into(),
        if secured { "80, 443" } else { "80" }.into(),
        age,
    ]
}

fn parameters(class: &Value) -> String {
    let parameters = &class["spec"]["parameters"];
    if !parameters.is_object() {
        return "<none>".to_owned();
    }
    let (kind, name) = (text(parameters, &["kind"]), text(parameters, &["name"]));
    match text(parameters, &["apiGroup"]) {
        "" => format!("{kind}/{name}"),
        group => format!("{kind}.{group}/{name}"),
    }
}
