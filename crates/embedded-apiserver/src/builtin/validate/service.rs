//! Validates Services.

use serde_json::{Value, json};

use super::super::metadata::validate_labels;
use super::super::path::{items, text};
use super::check::{self, Errors, address, join, network, one_of};
use crate::error::{FieldError, FieldErrorKind};
use crate::names;

pub(super) fn validate(object: &Value, old: Option<&Value>) -> Errors {
    let spec = &object["spec"];
    let kind = text(spec, &["type"]);
    let mut errors = Vec::new();
    let headless = text(spec, &["clusterIP"]) == "None";
    if items(&spec["ports"]).is_empty() && kind != "ExternalName" && !headless {
        errors.push(FieldError::required("spec.ports", ""));
    }
    validate_ports(&mut errors, &spec["ports"], kind);
    errors.extend(validate_labels(&spec["selector"], "spec.selector"));
    let options = ["ClientIP", "None"];
    one_of(
        &mut errors,
        "spec.sessionAffinity".to_owned(),
        &spec["sessionAffinity"],
        &options,
    );
    let options = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"];
    one_of(&mut errors, "spec.type".to_owned(), &spec["type"], &options);
    if kind == "ExternalName" {
        check::name(
            &mut errors,
            "spec.externalName".to_owned(),
            text(spec, &["externalName"]),
            names::subdomain,
        );
    }
    validate_affinity(&mut errors, spec);
    validate_families(&mut errors, spec);
    validate_addresses(&mut errors, spec, kind);
    validate_policies(&mut errors, spec, kind);
    if let Some(old) = old {
        let balanced = !items(&object["status"]["loadBalancer"]["ingress"]).is_empty();
        if balanced && object["status"] != old["status"] && kind != "LoadBalancer" {
            let detail = "may only be used when `spec.type` is 'LoadBalancer'";
            errors.push(FieldError::forbidden("status.loadBalancer.ingress", detail));
        }
        validate_update(&mut errors, spec, &old["spec"]);
    }
    errors
}

fn validate_ports(errors: &mut Errors, ports: &Value, kind: &str) {
    let several = items(ports).len() > 1;
    for (at, port) in items(ports).iter().enumerate() {
        let path = format!("spec.ports[{at}]");
        let name = text(port, &["name"]);
        if !name.is_empty() || several {
            check::name(errors, join(&path, "name"), name, names::label);
        }
        check::port(errors, &join(&path, "port"), &port["port"]);
        check::protocol(errors, &path, port);
        check::port(errors, &join(&path, "targetPort"), &port["targetPort"]);
        if let Some(protocol) = port["appProtocol"].as_str() {
            let reasons = names::qualified(protocol);
            check::each(errors, &join(&path, "appProtocol"), protocol, reasons);
        }
        let asked = port["nodePort"].as_i64().is_some_and(|port| port != 0);
        if asked && matches!(kind, "ClusterIP" | "ExternalName") {
            let detail = format!("may not be used when `type` is '{kind}'");
            errors.push(FieldError::forbidden(join(&path, "nodePort"), detail));
        }
    }
    check::unique_names(errors, ports, "spec.ports");
    let mut seen = Vec::new();
    for (at, port) in items(ports).iter().enumerate() {
        let key = (&port["protocol"], &port["port"]);
        if seen.contains(&key) {
            // The value is a Go struct, whose fields are printed in their own order.
            let detail = format!(
                "{{\"Name\":\"\",\"Protocol\":{},\"AppProtocol\":null,\"Port\":{},\"TargetPort\":0,\"NodePort\":0}}",
                port["protocol"], port["port"],
            );
            let path = format!("spec.ports[{at}]");
            errors.push(FieldError::shown(
                FieldErrorKind::Duplicate,
                path,
                &detail,
                "",
            ));
        }
        seen.push(key);
    }
}

fn validate_affinity(errors: &mut Errors, spec: &Value) {
    let seconds = &spec["sessionAffinityConfig"]["clientIP"]["timeoutSeconds"];
    let day = 24 * 60 * 60;
    if seconds
        .as_i64()
        .is_some_and(|seconds| !(1..=day).contains(&seconds))
    {
        let path = "spec.sessionAffinityConfig.clientIP.timeoutSeconds";
        let detail = format!("must be greater than 0 and less than {day}");
        errors.push(FieldError::invalid(path, seconds.clone(), detail));
    }
}

/// Checks the IP families. The cluster has IPv4 addresses only. A headless Service without a selector can
/// have other families.
fn validate_families(errors: &mut Errors, spec: &Value) {
    if text(spec, &["clusterIP"]) == "None" && spec["selector"].is_null() {
        return;
    }
    if text(spec, &["ipFamilyPolicy"]) == "RequireDualStack" {
        let detail = "this cluster is not configured for dual-stack services";
        let path = "spec.ipFamilyPolicy";
        errors.push(FieldError::invalid(path, "RequireDualStack", detail));
    }
    for (at, family) in items(&spec["ipFamilies"]).iter().enumerate() {
        if *family != json!("IPv4") {
            let detail = "not configured on this cluster";
            let path = format!("spec.ipFamilies[{at}]");
            errors.push(FieldError::invalid(path, family.clone(), detail));
        }
    }
}

fn validate_addresses(errors: &mut Errors, spec: &Value, kind: &str) {
    let cluster = text(spec, &["clusterIP"]);
    let path = "spec.clusterIPs[0]";
    if cluster == "None" && matches!(kind, "NodePort" | "LoadBalancer") {
        let detail = format!("may not be set to 'None' for {kind} services");
        errors.push(FieldError::invalid(path, cluster, detail));
    } else if !matches!(cluster, "None" | "") {
        address(errors, path.to_owned(), cluster);
    }
    for (at, one) in items(&spec["externalIPs"]).iter().enumerate() {
        let (path, one) = (
            format!("spec.externalIPs[{at}]"),
            one.as_str().unwrap_or_default(),
        );
        match one.parse::<std::net::IpAddr>() {
            Ok(given) if given.is_loopback() => {
                let detail = "may not be in the loopback range (127.0.0.0/8, ::1/128)";
                errors.push(FieldError::invalid(path, one, detail));
            }
            _ => address(errors, path, one),
        }
    }
    let ranges = items(&spec["loadBalancerSourceRanges"]);
    // The path of the real server begins with a capital letter as well.
    let path = "spec.LoadBalancerSourceRanges";
    if !ranges.is_empty() && kind != "LoadBalancer" {
        let detail = "may only be used when `type` is 'LoadBalancer'";
        errors.push(FieldError::forbidden(path, detail));
    }
    for (at, range) in ranges.iter().enumerate() {
        network(
            errors,
            format!("{path}[{at}]"),
            range.as_str().unwrap_or_default(),
        );
    }
}

fn validate_policies(errors: &mut Errors, spec: &Value, kind: &str) {
    let external = matches!(kind, "NodePort" | "LoadBalancer")
        || kind == "ClusterIP" && !items(&spec["externalIPs"]).is_empty();
    let policy = &spec["externalTrafficPolicy"];
    let path = "spec.externalTrafficPolicy";
    if !external && !policy.is_null() {
        let detail = "may only be set for externally-accessible services";
        errors.push(FieldError::invalid(path, policy.clone(), detail));
    } else {
        one_of(errors, path.to_owned(), policy, &["Cluster", "Local"]);
    }
    let path = "spec.internalTrafficPolicy".to_owned();
    one_of(
        errors,
        path,
        &spec["internalTrafficPolicy"],
        &["Cluster", "Local"],
    );
}

/// Checks that the address does not change once it is set, unless the type of the Service is or was
/// `ExternalName`.
fn validate_update(errors: &mut Errors, spec: &Value, old: &Value) {
    let named = |spec: &Value| text(spec, &["type"]) == "ExternalName";
    if named(spec) || named(old) {
        return;
    }
    let before = text(old, &["clusterIP"]);
    if !before.is_empty() && text(spec, &["clusterIP"]) != before {
        let shown = match &spec["clusterIPs"] {
            Value::Null => json!([]),
            given => given.clone(),
        };
        let detail = "may not change once set";
        errors.push(FieldError::invalid("spec.clusterIPs[0]", shown, detail));
    }
}
