//! Validates NetworkPolicies.

use serde_json::Value;

use super::super::path::{items, text};
use super::check::{self, Errors, join, network, one_of};
use super::selector;
use crate::error::FieldError;

pub(super) fn validate(object: &Value) -> Errors {
    let spec = &object["spec"];
    let mut errors = selector::validate(&spec["podSelector"], "spec.podSelector");
    for (list, peers) in [("ingress", "from"), ("egress", "to")] {
        for (at, rule) in items(&spec[list]).iter().enumerate() {
            let path = format!("spec.{list}[{at}]");
            for (at, port) in items(&rule["ports"]).iter().enumerate() {
                validate_port(&mut errors, port, &format!("{path}.ports[{at}]"));
            }
            for (at, peer) in items(&rule[peers]).iter().enumerate() {
                validate_peer(&mut errors, peer, &format!("{path}.{peers}[{at}]"));
            }
        }
    }
    for (at, kind) in items(&spec["policyTypes"]).iter().enumerate() {
        let types = ["Ingress", "Egress"];
        one_of(&mut errors, format!("spec.policyTypes[{at}]"), kind, &types);
    }
    errors
}

fn validate_port(errors: &mut Errors, port: &Value, path: &str) {
    let protocols = ["TCP", "UDP", "SCTP"];
    one_of(
        errors,
        join(path, "protocol"),
        &port["protocol"],
        &protocols,
    );
    check::port(errors, &join(path, "port"), &port["port"]);
}

fn validate_peer(errors: &mut Errors, peer: &Value, path: &str) {
    let selects = !peer["podSelector"].is_null() || !peer["namespaceSelector"].is_null();
    let block = &peer["ipBlock"];
    for field in ["podSelector", "namespaceSelector"] {
        errors.extend(selector::validate(&peer[field], &join(path, field)));
    }
    if !block.is_null() {
        network(errors, join(path, "ipBlock.cidr"), text(block, &["cidr"]));
    }
    match (selects, block.is_null()) {
        (false, true) => errors.push(FieldError::required(path, "must specify a peer")),
        (true, false) => {
            let detail = "may not specify both ipBlock and another peer";
            errors.push(FieldError::forbidden(path, detail));
        }
        _ => {}
    }
}
