//! Validates Ingresses.

use serde_json::{Value, json};

use super::super::path::{items, text};
use super::check::{self, Errors, each, join, unchanged};
use crate::error::FieldError;
use crate::names;

/// Validates an `IngressClass`, whose controller cannot change.
pub(super) fn validate_class(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    if let Some(old) = old {
        unchanged(&mut errors, object, old, &["spec", "controller"]);
    }
    let (path, controller) = ("spec.controller", text(object, &["spec", "controller"]));
    match controller.split_once('/') {
        _ if controller.is_empty() => errors.push(FieldError::required(path, "")),
        Some((domain, rest)) if !domain.is_empty() && !rest.is_empty() => {
            each(&mut errors, path, domain, names::subdomain(domain));
        }
        _ => {
            let detail = "must be a domain-prefixed path (such as \"acme.io/foo\")";
            errors.push(FieldError::invalid(path, controller, detail));
        }
    }
    errors
}

pub(super) fn validate(object: &Value) -> Errors {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let rules = items(&spec["rules"]);
    if rules.is_empty() && spec["defaultBackend"].is_null() {
        let detail = "either `defaultBackend` or `rules` must be specified";
        errors.push(FieldError::invalid("spec", json!(null), detail));
    }
    if !spec["defaultBackend"].is_null() {
        validate_backend(&mut errors, &spec["defaultBackend"], "spec.defaultBackend");
    }
    let class = text(spec, &["ingressClassName"]);
    if !class.is_empty() {
        each(
            &mut errors,
            "spec.ingressClassName",
            class,
            names::subdomain(class),
        );
    }
    for (at, rule) in rules.iter().enumerate() {
        let path = format!("spec.rules[{at}]");
        validate_host(&mut errors, text(rule, &["host"]), &join(&path, "host"));
        if rule["http"].is_null() {
            continue;
        }
        let path = format!("{path}.http.paths");
        let paths = items(&rule["http"]["paths"]);
        if paths.is_empty() {
            errors.push(FieldError::required(path.clone(), ""));
        }
        for (at, one) in paths.iter().enumerate() {
            validate_path(&mut errors, one, &format!("{path}[{at}]"));
        }
    }
    errors
}

fn validate_host(errors: &mut Errors, host: &str, path: &str) {
    if host.parse::<std::net::IpAddr>().is_ok() {
        let detail = "must be a DNS name, not an IP address";
        errors.push(FieldError::invalid(path, host, detail));
    } else if let Some(rest) = host.strip_prefix("*.") {
        each(errors, path, host, names::subdomain(rest));
    } else if !host.is_empty() {
        each(errors, path, host, names::subdomain(host));
    }
}

fn validate_path(errors: &mut Errors, one: &Value, path: &str) {
    let given = text(one, &["path"]);
    let types = ["Exact", "ImplementationSpecific", "Prefix"];
    match one["pathType"].as_str() {
        None => {
            let detail = "pathType must be specified";
            errors.push(FieldError::required(join(path, "pathType"), detail));
        }
        Some("Exact" | "Prefix") if !given.starts_with('/') => {
            let detail = "must be an absolute path";
            errors.push(FieldError::invalid(join(path, "path"), given, detail));
        }
        Some("ImplementationSpecific") if !given.is_empty() && !given.starts_with('/') => {
            let detail = "must be an absolute path";
            errors.push(FieldError::invalid(join(path, "path"), given, detail));
        }
        Some(kind) if !types.contains(&kind) => {
            errors.push(FieldError::not_supported(
                join(path, "pathType"),
                kind,
                &types,
            ));
        }
        Some(_) => {}
    }
    validate_backend(errors, &one["backend"], &join(path, "backend"));
}

fn validate_backend(errors: &mut Errors, backend: &Value, path: &str) {
    let (service, resource) = (&backend["service"], &backend["resource"]);
    match (service.is_null(), resource.is_null()) {
        (true, true) => {
            let detail = "resource or service backend is required";
            errors.push(FieldError::invalid(path, "", detail));
        }
        (false, false) => {
            let detail = "cannot set both resource and service backends";
            errors.push(FieldError::invalid(path, "", detail));
        }
        (true, false) => {}
        (false, true) => {
            let name = text(service, &["name"]);
            check::name(errors, join(path, "service.name"), name, names::label);
            let port = &service["port"];
            let number = port["number"].as_i64().unwrap_or_default();
            match (text(port, &["name"]), number) {
                ("", 0) => {
                    let detail = "port name or number is required";
                    errors.push(FieldError::required(path, detail));
                }
                ("", _) => check::port(errors, &join(path, "service.port.number"), &port["number"]),
                (name, 0) => {
                    let path = join(path, "service.port.name");
                    each(errors, &path, name, names::port_name(name));
                }
                _ => {
                    let detail = "cannot set both port name & port number";
                    errors.push(FieldError::invalid(path, "", detail));
                }
            }
        }
    }
}
