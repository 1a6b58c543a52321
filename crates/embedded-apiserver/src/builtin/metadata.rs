//! Checks metadata: names according to the rule of their kind, labels, annotations, owners and finalizers.
//!
//! The checks apply to built-in and custom resources. The registry checks `resourceVersion`.

use serde_json::{Map, Value, json};

use super::path::{items, text};
use crate::error::{FieldError, FieldErrorKind};
use crate::go;
use crate::names;

/// The maximum size of all annotations of an object, in bytes.
const ANNOTATION_BYTES: usize = 256 * 1024;

/// The rule for the names of the objects of a kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NameRule {
    /// An RFC 1123 subdomain.
    Subdomain,
    /// An RFC 1123 label.
    Label,
    /// Any text that can be a segment of a path.
    Path,
}

impl NameRule {
    /// Returns the reasons that a name, or with `prefix` a `generateName`, is invalid.
    fn reasons(self, name: &str, prefix: bool) -> Vec<String> {
        // A prefix can end in a dash, because letters follow it.
        let masked = match name.strip_suffix('-') {
            Some(rest) if prefix && !rest.is_empty() => format!("{rest}a"),
            _ => name.to_owned(),
        };
        match self {
            Self::Subdomain => names::subdomain(&masked),
            Self::Label => names::label(&masked),
            Self::Path => names::path_segment(name, prefix),
        }
    }
}

/// Returns the rule for the names of a built-in kind.
pub(crate) fn name_rule(group: &str, kind: &str) -> NameRule {
    match (group, kind) {
        ("", "Namespace" | "Service") | ("apps", "StatefulSet") => NameRule::Label,
        ("", "Event")
        | ("policy", "PodDisruptionBudget")
        | ("apiregistration.k8s.io" | "rbac.authorization.k8s.io", _) => NameRule::Path,
        _ => NameRule::Subdomain,
    }
}

/// Checks the metadata of a new object, or of an update if `old` is set.
pub(crate) fn validate(
    object: &Value,
    old: Option<&Value>,
    namespaced: bool,
    rule: NameRule,
) -> Vec<FieldError> {
    let metadata = &object["metadata"];
    let mut errors = match old {
        None => validate_name(metadata, namespaced, rule),
        Some(old) => validate_immutable(metadata, &old["metadata"]),
    };
    errors.extend(validate_labels(&metadata["labels"], "metadata.labels"));
    errors.extend(validate_annotations(
        &metadata["annotations"],
        "metadata.annotations",
    ));
    errors.extend(validate_owners(&metadata["ownerReferences"]));
    if old.is_none() {
        errors.extend(validate_finalizers(metadata));
    }
    errors
}

fn validate_name(metadata: &Value, namespaced: bool, rule: NameRule) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let generate = text(metadata, &["generateName"]);
    if !generate.is_empty() {
        let reasons = rule.reasons(generate, true);
        errors.extend(invalid_each("metadata.generateName", generate, reasons));
    }
    let name = text(metadata, &["name"]);
    if name.is_empty() {
        let detail = "name or generateName is required";
        errors.push(FieldError::required("metadata.name", detail));
    } else {
        errors.extend(invalid_each(
            "metadata.name",
            name,
            rule.reasons(name, false),
        ));
    }
    let namespace = text(metadata, &["namespace"]);
    match (namespaced, namespace.is_empty()) {
        (true, true) => errors.push(FieldError::required("metadata.namespace", "")),
        (true, false) => {
            let reasons = names::label(namespace);
            errors.extend(invalid_each("metadata.namespace", namespace, reasons));
        }
        (false, true) => {}
        (false, false) => {
            let detail = "not allowed on this type";
            errors.push(FieldError::forbidden("metadata.namespace", detail));
        }
    }
    errors
}

/// The fields of the metadata that an update cannot change.
const IMMUTABLE: [&str; 6] = [
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
];

fn validate_immutable(new: &Value, old: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if !old["deletionTimestamp"].is_null() {
        let is_new = |one: &&Value| !items(&old["finalizers"]).contains(one);
        let mut extra: Vec<String> = items(&new["finalizers"])
            .iter()
            .filter(is_new)
            .map(Value::to_string)
            .collect();
        extra.sort();
        if !extra.is_empty() {
            let detail = format!(
                "no new finalizers can be added if the object is being deleted, found new \
                 finalizers []string{{{}}}",
                extra.join(", ")
            );
            errors.push(FieldError::forbidden("metadata.finalizers", detail));
        }
    }
    for field in IMMUTABLE {
        if new[field] != old[field] {
            let path = format!("metadata.{field}");
            errors.push(immutable(path, new[field].clone()));
        }
    }
    errors
}

/// Returns the error `field is immutable`.
pub(crate) fn immutable(path: impl Into<String>, value: Value) -> FieldError {
    FieldError::invalid(path, value, "field is immutable")
}

/// Returns an error for each reason.
pub(crate) fn invalid_each<'a>(
    path: &'a str,
    value: &'a str,
    reasons: Vec<String>,
) -> impl Iterator<Item = FieldError> + 'a {
    let error = move |reason| FieldError::invalid(path, value, reason);
    reasons.into_iter().map(error)
}

fn entries(map: &Value) -> impl Iterator<Item = (&String, &str)> {
    let map = map.as_object().into_iter().flat_map(Map::iter);
    map.map(|(key, value)| (key, value.as_str().unwrap_or_default()))
}

/// Checks labels. All errors have the path of the map.
pub(crate) fn validate_labels(labels: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    for (key, value) in entries(labels) {
        errors.extend(invalid_each(path, key, names::qualified(key)));
        errors.extend(invalid_each(path, value, names::label_value(value)));
    }
    errors
}

/// Checks annotations. All errors have the path of the map.
pub(crate) fn validate_annotations(annotations: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let mut size = 0;
    for (key, value) in entries(annotations) {
        let reasons = names::qualified(&key.to_lowercase());
        errors.extend(invalid_each(path, key, reasons));
        size += key.len() + value.len();
    }
    if size > ANNOTATION_BYTES {
        let detail = format!("may not be more than {ANNOTATION_BYTES} bytes");
        errors.push(FieldError::new(FieldErrorKind::TooLong, path, "", detail));
    }
    errors
}

fn validate_owners(owners: &Value) -> Vec<FieldError> {
    let path = "metadata.ownerReferences";
    let mut errors = Vec::new();
    let mut controller: Option<String> = None;
    for owner in items(owners) {
        errors.extend(validate_owner(owner, path));
        if owner["controller"] != json!(true) {
            continue;
        }
        let this = format!("{}/{}", text(owner, &["kind"]), text(owner, &["name"]));
        match &controller {
            None => controller = Some(this),
            Some(first) => {
                let detail = format!(
                    "Only one reference can have Controller set to true. Found \"true\" in \
                     references for {first} and {this}"
                );
                errors.push(FieldError::shown(
                    FieldErrorKind::Invalid,
                    path,
                    &go::owners(owners),
                    &detail,
                ));
            }
        }
    }
    errors
}

fn validate_owner(owner: &Value, path: &str) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let api_version = text(owner, &["apiVersion"]);
    // An apiVersion that cannot be parsed has no version.
    let version = match api_version.split_once('/') {
        Some((_, version)) if version.contains('/') => "",
        Some((_, version)) => version,
        None => api_version,
    };
    for (field, detail, value) in [
        ("apiVersion", "version must not be empty", version),
        ("kind", "must not be empty", text(owner, &["kind"])),
        ("name", "must not be empty", text(owner, &["name"])),
        ("uid", "must not be empty", text(owner, &["uid"])),
    ] {
        if value.is_empty() {
            let path = format!("{path}.{field}");
            errors.push(FieldError::invalid(path, text(owner, &[field]), detail));
        }
    }
    if api_version == "v1" && text(owner, &["kind"]) == "Event" {
        let detail = "/v1, Kind=Event is disallowed from being an owner";
        errors.push(FieldError::invalid(path, owner.clone(), detail));
    }
    errors
}

fn validate_finalizers(metadata: &Value) -> Vec<FieldError> {
    let path = "metadata.finalizers";
    let finalizers = items(&metadata["finalizers"]);
    let mut errors = Vec::new();
    for finalizer in finalizers.iter().filter_map(Value::as_str) {
        errors.extend(invalid_each(path, finalizer, names::qualified(finalizer)));
    }
    let has = |name: &str| finalizers.iter().any(|one| one == name);
    if has("orphan") && has("foregroundDeletion") {
        let detail = "finalizer orphan and foregroundDeletion cannot be both set";
        errors.push(FieldError::invalid(
            path,
            metadata["finalizers"].clone(),
            detail,
        ));
    }
    errors
}

/// Checks the finalizers of built-in kinds: a finalizer needs a domain unless it is a standard one.
pub(crate) fn validate_kube_finalizers(finalizers: &Value, path: &str) -> Vec<FieldError> {
    let names = items(finalizers).iter().filter_map(Value::as_str);
    let standard = |name: &str| matches!(name, "kubernetes" | "orphan" | "foregroundDeletion");
    let wrong = |(_, name): &(usize, &str)| !name.contains('/') && !standard(name);
    let error = |(at, name)| {
        let detail = "name is neither a standard finalizer name nor is it fully qualified";
        FieldError::invalid(format!("{path}[{at}]"), name, detail)
    };
    names.enumerate().filter(wrong).map(error).collect()
}
