//! Validates PersistentVolumeClaims and PersistentVolumes.

use serde_json::{Value, json};

use super::super::path::{at, items, text};
use super::super::quantity::Quantity;
use super::check::{Errors, each, one_of};
use crate::error::FieldError;
use crate::names;

const MODES: [&str; 4] = [
    "ReadOnlyMany",
    "ReadWriteMany",
    "ReadWriteOnce",
    "ReadWriteOncePod",
];

/// The fields of a PersistentVolume's spec that are not volume sources.
const NOT_SOURCES: [&str; 9] = [
    "accessModes",
    "capacity",
    "claimRef",
    "mountOptions",
    "nodeAffinity",
    "persistentVolumeReclaimPolicy",
    "storageClassName",
    "volumeAttributesClassName",
    "volumeMode",
];

pub(super) fn validate(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = validate_spec(&object["spec"], "spec");
    if let Some(old) = old {
        validate_update(&mut errors, object, old);
    }
    errors
}

fn validate_spec(spec: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    let modes = items(&spec["accessModes"]);
    if modes.is_empty() {
        let detail = "at least 1 access mode is required";
        errors.push(FieldError::required(format!("{path}.accessModes"), detail));
    }
    for mode in modes {
        one_of(&mut errors, format!("{path}.accessModes"), mode, &MODES);
    }
    let request = &spec["resources"]["requests"]["storage"];
    let path_of_request = format!("{path}.resources[storage]");
    match amount(request) {
        None => errors.push(FieldError::required(path_of_request, "")),
        Some(amount) if amount.nano() <= 0 => {
            let detail = "must be greater than zero";
            errors.push(FieldError::invalid(
                path_of_request,
                request.clone(),
                detail,
            ));
        }
        Some(_) => {}
    }
    let class = text(spec, &["storageClassName"]);
    if !class.is_empty() {
        let path = format!("{path}.storageClassName");
        each(&mut errors, &path, class, names::subdomain(class));
    }
    let modes = ["Block", "Filesystem"];
    one_of(
        &mut errors,
        format!("{path}.volumeMode"),
        &spec["volumeMode"],
        &modes,
    );
    errors
}

fn amount(value: &Value) -> Option<Quantity> {
    value.as_str()?.parse().ok()
}

/// Checks an update of a claim. A bound claim can request more. Otherwise, only missing names can be set,
/// such as that of the volume.
fn validate_update(errors: &mut Errors, object: &Value, old: &Value) {
    let request = ["spec", "resources", "requests", "storage"];
    let mut allowed = old["spec"].clone();
    if at(&allowed, &["volumeName"]).is_null() {
        allowed["volumeName"] = object["spec"]["volumeName"].clone();
    }
    if text(old, &["status", "phase"]) == "Bound" {
        allowed["resources"]["requests"] = object["spec"]["resources"]["requests"].clone();
        allowed["volumeAttributesClassName"] = object["spec"]["volumeAttributesClassName"].clone();
    }
    if at(&allowed, &["storageClassName"]).is_null() {
        allowed["storageClassName"] = object["spec"]["storageClassName"].clone();
    }
    let given = |spec: &Value| {
        let mut spec = spec.as_object().cloned().unwrap_or_default();
        spec.retain(|_, value| !value.is_null());
        spec
    };
    if given(&allowed) != given(&object["spec"]) {
        let detail = "spec is immutable after creation except resources.requests and \
                      volumeAttributesClassName for bound claims";
        errors.push(FieldError::forbidden("spec", detail));
    }
    let (new, before) = (amount(at(object, &request)), amount(at(old, &request)));
    let bound = text(old, &["status", "phase"]) == "Bound";
    if let (true, Some(new), Some(before)) = (bound, new, before)
        && new.nano() < before.nano()
    {
        let detail = "field can not be less than status.capacity";
        errors.push(FieldError::forbidden(
            "spec.resources.requests.storage",
            detail,
        ));
    }
}

pub(super) fn validate_volume(object: &Value) -> Errors {
    let spec = &object["spec"];
    let mut errors = Vec::new();
    let modes = items(&spec["accessModes"]);
    if modes.is_empty() {
        errors.push(FieldError::required("spec.accessModes", ""));
    }
    for mode in modes {
        one_of(&mut errors, "spec.accessModes".to_owned(), mode, &MODES);
    }
    let capacity = &spec["capacity"];
    if capacity.as_object().is_none_or(serde_json::Map::is_empty) {
        errors.push(FieldError::required("spec.capacity", ""));
    }
    if capacity.get("storage").is_none() || capacity.as_object().is_some_and(|map| map.len() > 1) {
        let options = ["storage"];
        errors.push(FieldError::not_supported(
            "spec.capacity",
            capacity.clone(),
            &options,
        ));
    }
    let is_source = |(key, value): (&String, &Value)| {
        !NOT_SOURCES.contains(&key.as_str()) && *value != json!(null)
    };
    if !spec
        .as_object()
        .is_some_and(|spec| spec.iter().any(is_source))
    {
        errors.push(FieldError::required("spec", "must specify a volume type"));
    }
    let policies = ["Delete", "Recycle", "Retain"];
    let policy = &spec["persistentVolumeReclaimPolicy"];
    one_of(
        &mut errors,
        "spec.persistentVolumeReclaimPolicy".to_owned(),
        policy,
        &policies,
    );
    errors
}
