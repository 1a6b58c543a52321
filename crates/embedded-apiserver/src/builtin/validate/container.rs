//! Validates containers.

use serde_json::{Map, Value, json};

use super::super::path::{items, text};
use super::super::quantity::Quantity;
use super::check::{self, Errors, duplicates, each, join, not_found, not_negative, one_of};
use crate::error::{FieldError, FieldErrorKind};
use crate::go;
use crate::names;

pub(super) fn validate(container: &Value, path: &str, volumes: &[&str], init: bool) -> Errors {
    let mut errors = Vec::new();
    check::name(
        &mut errors,
        join(path, "name"),
        text(container, &["name"]),
        names::label,
    );
    let image = text(container, &["image"]);
    if image.is_empty() {
        errors.push(FieldError::required(join(path, "image"), ""));
    } else if image.trim() != image {
        let detail = "must not have leading or trailing whitespace";
        errors.push(FieldError::invalid(join(path, "image"), image, detail));
    }
    validate_ports(&mut errors, &container["ports"], &join(path, "ports"));
    for (at, one) in items(&container["env"]).iter().enumerate() {
        validate_env(&mut errors, one, &format!("{path}.env[{at}]"));
    }
    for (at, one) in items(&container["envFrom"]).iter().enumerate() {
        validate_env_from(&mut errors, one, path, at);
    }
    validate_mounts(
        &mut errors,
        &container["volumeMounts"],
        &join(path, "volumeMounts"),
        volumes,
    );
    let policies = ["Always", "IfNotPresent", "Never"];
    let policy = &container["imagePullPolicy"];
    one_of(
        &mut errors,
        join(path, "imagePullPolicy"),
        policy,
        &policies,
    );
    let policies = ["File", "FallbackToLogsOnError"];
    let policy = &container["terminationMessagePolicy"];
    one_of(
        &mut errors,
        join(path, "terminationMessagePolicy"),
        policy,
        &policies,
    );
    validate_resources(
        &mut errors,
        &container["resources"],
        &join(path, "resources"),
    );
    let context = &container["securityContext"];
    validate_security(&mut errors, context, &join(path, "securityContext"));
    validate_life(&mut errors, container, path, init);
    errors
}

/// Validates probes, and the hooks on start and stop.
fn validate_life(errors: &mut Errors, container: &Value, path: &str, init: bool) {
    let sidecar = container["restartPolicy"] == json!("Always");
    for probe in ["livenessProbe", "readinessProbe", "startupProbe"] {
        let path = join(path, probe);
        if container[probe].is_null() {
            continue;
        }
        if init && !sidecar {
            let detail = "may not be set for init containers without restartPolicy=Always";
            errors.push(FieldError::forbidden(path, detail));
        } else {
            validate_probe(errors, &container[probe], &path, probe != "readinessProbe");
        }
    }
    for hook in ["postStart", "preStop"] {
        if !container["lifecycle"][hook].is_null() {
            let path = format!("{path}.lifecycle.{hook}");
            validate_handler(errors, &container["lifecycle"][hook], &path);
        }
    }
}

fn validate_security(errors: &mut Errors, context: &Value, path: &str) {
    validate_ids(errors, context, path, &["runAsUser", "runAsGroup"]);
    if context["allowPrivilegeEscalation"] != json!(false) {
        return;
    }
    let cannot = "cannot set `allowPrivilegeEscalation` to false and";
    let mut refuse = |detail: String| {
        let shown = go::security_context(context);
        let kind = FieldErrorKind::Invalid;
        errors.push(FieldError::shown(kind, path, &shown, &detail));
    };
    if context["privileged"] == json!(true) {
        refuse(format!("{cannot} `privileged` to true"));
    }
    for one in items(&context["capabilities"]["add"]) {
        if one == "CAP_SYS_ADMIN" {
            refuse(format!("{cannot} `capabilities.Add` CAP_SYS_ADMIN"));
        }
    }
}

/// Validates user and group ids.
pub(super) fn validate_ids(errors: &mut Errors, context: &Value, path: &str, fields: &[&str]) {
    let most = i64::from(i32::MAX);
    for field in fields {
        let id = &context[*field];
        if id.as_i64().is_some_and(|id| !(0..=most).contains(&id)) {
            let detail = format!("must be between 0 and {most}, inclusive");
            errors.push(FieldError::invalid(join(path, field), id.clone(), detail));
        }
    }
}

fn validate_ports(errors: &mut Errors, ports: &Value, path: &str) {
    for (at, port) in items(ports).iter().enumerate() {
        let path = format!("{path}[{at}]");
        let name = text(port, &["name"]);
        if !name.is_empty() {
            each(errors, &join(&path, "name"), name, names::port_name(name));
        }
        if port["containerPort"].as_i64().unwrap_or_default() == 0 {
            errors.push(FieldError::required(join(&path, "containerPort"), ""));
        } else {
            check::port(
                errors,
                &join(&path, "containerPort"),
                &port["containerPort"],
            );
        }
        if port["hostPort"].as_i64().is_some_and(|host| host != 0) {
            check::port(errors, &join(&path, "hostPort"), &port["hostPort"]);
        }
        check::protocol(errors, &path, port);
    }
    check::unique_names(errors, ports, path);
}

fn validate_env(errors: &mut Errors, env: &Value, path: &str) {
    check::name(
        errors,
        join(path, "name"),
        text(env, &["name"]),
        names::env_name,
    );
    let from = &env["valueFrom"];
    let path = join(path, "valueFrom");
    let Some(sources) = from.as_object() else {
        return;
    };
    if !text(env, &["value"]).is_empty() {
        let detail = "may not be specified when `value` is not empty";
        errors.push(FieldError::invalid(path, "", detail));
        return;
    }
    match sources.len() {
        0 => {
            let detail = "must specify one of: `fieldRef`, `resourceFieldRef`, \
                          `configMapKeyRef`, `secretKeyRef` or `fileKeyRef`";
            errors.push(FieldError::invalid(path.clone(), "", detail));
        }
        1 => {}
        _ => {
            let detail = "may not have more than one field specified at a time";
            errors.push(FieldError::invalid(path.clone(), "", detail));
        }
    }
    validate_references(errors, sources, &path);
}

/// Validates the source of an environment variable's value.
fn validate_references(errors: &mut Errors, sources: &Map<String, Value>, path: &str) {
    for source in ["configMapKeyRef", "secretKeyRef"] {
        if let Some(reference) = sources.get(source) {
            let path = join(path, source);
            let name = text(reference, &["name"]);
            each(errors, &join(&path, "name"), name, names::subdomain(name));
            check::name(
                errors,
                join(&path, "key"),
                text(reference, &["key"]),
                names::config_key,
            );
        }
    }
    if let Some(reference) = sources.get("fieldRef") {
        validate_field_ref(
            errors,
            text(reference, &["fieldPath"]),
            &format!("{path}.fieldRef.fieldPath"),
        );
    }
    if let Some(reference) = sources.get("resourceFieldRef") {
        let options = [
            "limits.cpu",
            "limits.ephemeral-storage",
            "limits.memory",
            "requests.cpu",
            "requests.ephemeral-storage",
            "requests.memory",
        ];
        let resource = text(reference, &["resource"]);
        let path = format!("{path}.resourceFieldRef.resource");
        if resource.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if !options.contains(&resource) && !resource.contains("hugepages-") {
            errors.push(FieldError::not_supported(path, resource, &options));
        }
    }
}

fn validate_field_ref(errors: &mut Errors, field: &str, path: &str) {
    const FIELDS: [&str; 10] = [
        "metadata.name",
        "metadata.namespace",
        "metadata.uid",
        "spec.nodeName",
        "spec.serviceAccountName",
        "status.hostIP",
        "status.hostIPs",
        "status.podIP",
        "status.podIPs",
        "spec.restartPolicy",
    ];
    let of_map = ["metadata.labels['", "metadata.annotations['"];
    if field.is_empty() {
        errors.push(FieldError::required(path, ""));
    } else if !FIELDS.contains(&field) && !of_map.iter().any(|start| field.starts_with(start)) {
        let detail = format!("error converting fieldPath: field label not supported: {field}");
        errors.push(FieldError::invalid(path, field, detail));
    }
}

fn validate_env_from(errors: &mut Errors, from: &Value, path: &str, at: usize) {
    let sources = ["configMapRef", "secretRef"];
    let given: Vec<&str> = sources
        .into_iter()
        .filter(|one| !from[*one].is_null())
        .collect();
    match given[..] {
        [] => {
            let detail = "must specify one of: `configMapRef` or `secretRef`";
            errors.push(FieldError::invalid(join(path, "envFrom"), "", detail));
        }
        [source] => {
            let path = format!("{path}.envFrom[{at}].{source}.name");
            check::name(
                errors,
                path,
                text(&from[source], &["name"]),
                names::subdomain,
            );
        }
        _ => {
            let detail = "may not have more than one field specified at a time";
            errors.push(FieldError::invalid(join(path, "envFrom"), "", detail));
        }
    }
}

fn validate_mounts(errors: &mut Errors, mounts: &Value, path: &str, volumes: &[&str]) {
    for (at, mount) in items(mounts).iter().enumerate() {
        let name = text(mount, &["name"]);
        if name.is_empty() {
            errors.push(FieldError::required(format!("{path}[{at}].name"), ""));
        } else if !volumes.contains(&name) {
            errors.push(not_found(format!("{path}[{at}].name"), name));
        }
        if text(mount, &["mountPath"]).is_empty() {
            errors.push(FieldError::required(format!("{path}[{at}].mountPath"), ""));
        }
    }
    for (at, mount) in duplicates(mounts, "mountPath") {
        let path = format!("{path}[{at}].mountPath");
        errors.push(FieldError::invalid(path, mount, "must be unique"));
    }
}

fn validate_resources(errors: &mut Errors, resources: &Value, path: &str) {
    for list in ["limits", "requests"] {
        let amounts = resources[list].as_object().into_iter().flat_map(Map::iter);
        for (name, amount) in amounts {
            let path = format!("{path}.{list}[{name}]");
            validate_resource_name(errors, name, &path);
            validate_amount(errors, amount, path);
        }
    }
    let requests = resources["requests"]
        .as_object()
        .into_iter()
        .flat_map(Map::iter);
    for (name, request) in requests {
        let limit = &resources["limits"][name];
        if let (Some(asked), Some(most)) = (parse(request), parse(limit))
            && asked.nano() > most.nano()
        {
            let limit = limit.as_str().unwrap_or_default();
            let detail = format!("must be less than or equal to {name} limit of {limit}");
            errors.push(FieldError::invalid(
                join(path, "requests"),
                request.clone(),
                detail,
            ));
        }
    }
}

fn parse(amount: &Value) -> Option<Quantity> {
    amount.as_str()?.parse().ok()
}

/// Validates a quantity that cannot be negative.
pub(super) fn validate_amount(errors: &mut Errors, amount: &Value, path: String) {
    if parse(amount).is_some_and(Quantity::is_negative) {
        let detail = "must be greater than or equal to 0";
        errors.push(FieldError::invalid(path, amount.clone(), detail));
    }
}

fn validate_resource_name(errors: &mut Errors, name: &str, path: &str) {
    let standard = ["cpu", "memory", "ephemeral-storage"];
    if standard.contains(&name) || name.starts_with("hugepages-") {
        return;
    }
    each(errors, path, name, names::qualified(name));
    if !name.contains('/') {
        for detail in [
            "must be a standard resource type or fully qualified",
            "must be a standard resource for containers",
        ] {
            errors.push(FieldError::invalid(path, name, detail));
        }
    }
}

fn validate_probe(errors: &mut Errors, probe: &Value, path: &str, one_success: bool) {
    validate_handler(errors, probe, path);
    let fields = [
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ];
    not_negative(errors, probe, path, &fields);
    let successes = &probe["successThreshold"];
    if one_success && successes.as_i64().is_some_and(|count| count != 1) {
        let path = join(path, "successThreshold");
        errors.push(FieldError::invalid(path, successes.clone(), "must be 1"));
    }
}

fn validate_handler(errors: &mut Errors, handler: &Value, path: &str) {
    let mut given = 0;
    for kind in ["exec", "httpGet", "tcpSocket", "grpc", "sleep"] {
        let one = &handler[kind];
        if one.is_null() {
            continue;
        }
        given += 1;
        let path = join(path, kind);
        if given > 1 {
            let detail = "may not specify more than 1 handler type";
            errors.push(FieldError::forbidden(path, detail));
            continue;
        }
        match kind {
            "exec" if items(&one["command"]).is_empty() => {
                errors.push(FieldError::required(join(&path, "command"), ""));
            }
            "httpGet" => {
                if text(one, &["path"]).is_empty() {
                    errors.push(FieldError::required(join(&path, "path"), ""));
                }
                check::port(errors, &join(&path, "port"), &one["port"]);
                one_of(
                    errors,
                    join(&path, "scheme"),
                    &one["scheme"],
                    &["HTTP", "HTTPS"],
                );
            }
            "tcpSocket" | "grpc" => check::port(errors, &join(&path, "port"), &one["port"]),
            _ => {}
        }
    }
    if given == 0 {
        errors.push(FieldError::required(path, "must specify a handler type"));
    }
}
