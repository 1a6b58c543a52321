//! Validates custom resource definitions.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/>
//! The server checks an internal form in which the parts that all versions share belong to the definition.
//! Therefore errors in the schema of the only version have the path `spec.validation`.

mod conversion;
mod costs;
mod defaults;
mod enumeration;
mod internal;
mod merging;
mod root;
mod rule;
mod schema;
mod scope;
mod spec;
mod structure;
mod version;

use serde_json::Value;

use super::structural::{list, object, text};
use super::{SearchBudget, approval, conditions, dns};
use crate::error::FieldError;
use crate::go;

/// Returns the errors of a definition without its metadata, except its name. With an old version, also
/// checks fields that cannot change.
pub(crate) fn validate(crd: &Value, old: Option<&Value>) -> Vec<FieldError> {
    let _searches = SearchBudget::begin();
    let mut errors = Vec::new();
    let spec = &crd["spec"];
    if old.is_none() {
        errors.extend(name_error(crd));
    }
    spec::check(spec, old.map(|old| &old["spec"]), &mut errors);
    if let Some(old) = old {
        immutable(
            spec,
            &old["spec"],
            conditions::is_true(old, "Established"),
            &mut errors,
        );
    }
    errors.extend(validate_status(crd));
    stored_versions(crd, &mut errors);
    errors.extend(approval::error(crd, old));
    if spec["preserveUnknownFields"] == true
        && old.is_none_or(|old| old["spec"]["preserveUnknownFields"] != true)
    {
        errors.push(FieldError::invalid(
            "spec.preserveUnknownFields",
            true,
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in \
             spec.versions[*].schema instead",
        ));
    }
    errors
}

/// Returns the errors of the names in the status of a definition.
pub(crate) fn validate_status(crd: &Value) -> Vec<FieldError> {
    let mut errors = Vec::new();
    spec::names(
        &crd["status"]["acceptedNames"],
        "status.acceptedNames",
        &mut errors,
    );
    errors
}

/// Returns warnings about formats that the server does not know. With an old version, only about new
/// formats.
pub(crate) fn warnings(crd: &Value, old: Option<&Value>) -> Vec<String> {
    let before = old.map(unknown_formats).unwrap_or_default();
    let mut found = unknown_formats(crd);
    found.retain(|format| !before.contains(format));
    found
        .iter()
        .map(|format| format!("unrecognized format {}", go::quote(format)))
        .collect()
}

fn name_error(crd: &Value) -> Option<FieldError> {
    let name = crd["metadata"]["name"].as_str().unwrap_or_default();
    let plural = text(&crd["spec"]["names"], "plural").unwrap_or_default();
    let group = text(&crd["spec"], "group").unwrap_or_default();
    let wanted = format!("{plural}.{group}");
    let why = "must be spec.names.plural+\".\"+spec.group";
    (name != wanted).then(|| FieldError::invalid("metadata.name", name, why))
}

fn immutable(spec: &Value, old: &Value, established: bool, errors: &mut Vec<FieldError>) {
    let mut compare = |pointer: &str| {
        let at = |spec: &Value| spec.pointer(pointer).cloned().unwrap_or_else(|| "".into());
        if at(spec) != at(old) {
            let path = format!("spec{}", pointer.replace('/', "."));
            errors.push(FieldError::invalid(path, at(spec), "field is immutable"));
        }
    };
    // The storage of custom resources depends on these fields, which can change only before the definition is
    // established.
    if established {
        compare("/scope");
        compare("/names/kind");
    }
    compare("/group");
    compare("/names/plural");
}

fn stored_versions(crd: &Value, errors: &mut Vec<FieldError>) {
    const PATH: &str = "status.storedVersions";
    let all = &crd["status"]["storedVersions"];
    let stored: Vec<&str> = list(&crd["status"], "storedVersions")
        .filter_map(Value::as_str)
        .collect();
    if stored.is_empty() {
        let why = "must have at least one stored version";
        errors.push(FieldError::invalid(PATH, all.clone(), why));
        return;
    }
    // Of several versions with the same name, only the first one is found among the stored versions.
    let mut left: Vec<(usize, &str)> = stored.iter().copied().enumerate().collect();
    for version in list(&crd["spec"], "versions") {
        let name = version["name"].as_str().unwrap_or_default();
        let count = left.len();
        left.retain(|(_, one)| *one != name);
        if version["storage"] == true && left.len() == count {
            let why = format!("must have the storage version {name}");
            errors.push(FieldError::invalid(PATH, all.clone(), why));
        }
    }
    for (index, one) in left {
        let why = format!(
            "missing from spec.versions; {one} was previously a storage version, and must remain \
             in spec.versions until a storage migration ensures no data remains persisted in \
             {one} and removes {one} from status.storedVersions"
        );
        errors.push(FieldError::invalid(format!("{PATH}[{index}]"), one, why));
    }
}

fn unknown_formats(crd: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let mut seen: Vec<&Value> = Vec::new();
    for version in list(&crd["spec"], "versions") {
        let schema = &version["schema"]["openAPIV3Schema"];
        // A schema that several versions share causes one warning.
        if !seen.contains(&schema) {
            seen.push(schema);
            collect_formats(schema, &mut found);
        }
    }
    found
}

fn collect_formats(schema: &Value, found: &mut Vec<String>) {
    let kind = schema["type"].as_str().unwrap_or_default();
    if let Some(format) = text(schema, "format")
        && super::format::Format::named(kind, &format).is_none()
    {
        found.push(format);
    }
    for below in schemas_below(schema) {
        collect_formats(below, found);
    }
}

/// Returns all schemas directly below a schema.
fn schemas_below(schema: &Value) -> impl Iterator<Item = &Value> {
    let single = ["items", "not", "additionalProperties"].into_iter();
    let lists = ["allOf", "anyOf", "oneOf"].into_iter();
    single
        .filter_map(|key| schema.get(key).filter(|it| it.is_object()))
        .chain(lists.flat_map(|key| list(schema, key)))
        .chain(object(schema, "properties").map(|(_, property)| property))
}

/// Checks that a value is a DNS-1035 label, unless it is missing or empty.
fn label(value: &Value, path: String, errors: &mut Vec<FieldError>) {
    if let Some(text) = value.as_str().filter(|text| !text.is_empty())
        && let Some(why) = dns::label_1035(text)
    {
        errors.push(FieldError::invalid(path, text, why));
    }
}
