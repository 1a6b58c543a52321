//! Checks the specification: group, scope, names and versions.

use serde_json::Value;

use super::enumeration::check_enum;
use super::version::{self, VersionPath};
use super::{conversion, internal, label, root};
use crate::crd::dns;
use crate::crd::structural::{list, text};
use crate::error::FieldError;

pub(super) fn check(spec: &Value, old: Option<&Value>, errors: &mut Vec<FieldError>) {
    group(spec, errors);
    check_enum(
        &spec["scope"],
        "spec.scope",
        &["Cluster", "Namespaced"],
        errors,
    );
    let versions: Vec<&Value> = list(spec, "versions").collect();
    for (index, version) in versions.iter().enumerate() {
        if !version["schema"]["openAPIV3Schema"].is_object() {
            let path = format!("spec.versions[{index}].schema.openAPIV3Schema");
            errors.push(FieldError::required(path, ""));
        }
    }
    let common = SharedVersionParts::find(&versions);
    for (index, version) in versions.iter().enumerate() {
        let path = format!("spec.versions[{index}]");
        if let Some(why) = dns::label_1035(version["name"].as_str().unwrap_or_default()) {
            errors.push(FieldError::invalid(
                format!("{path}.name"),
                version["name"].clone(),
                why,
            ));
        }
        version::deprecation(version, &path, errors);
        parts(version, old, &path, &common, false, errors);
    }
    storage(spec, &versions, errors);
    if let Some(first) = versions.first() {
        label(&first["name"], "spec.version".to_owned(), errors);
    }
    for key in ["plural", "singular", "kind", "listKind"] {
        if text(&spec["names"], key).is_none() {
            errors.push(FieldError::required(format!("spec.names.{key}"), ""));
        }
    }
    names(&spec["names"], "spec.names", errors);
    if let Some(first) = versions.first() {
        parts(first, old, "spec", &common, true, errors);
    }
    conversion::check(&spec["conversion"], errors);
}

/// The parts that are the same in all versions. They are checked once as parts of the definition.
struct SharedVersionParts<'a> {
    versions: &'a [&'a Value],
}

impl<'a> SharedVersionParts<'a> {
    fn find(versions: &'a [&'a Value]) -> Self {
        Self { versions }
    }

    fn is(&self, key: &str) -> bool {
        let none = Value::Null;
        let of = |version: &'a Value| match version.get(key) {
            Some(Value::Array(all)) if all.is_empty() => none.clone(),
            Some(other) => other.clone(),
            None => none.clone(),
        };
        let mut all = self.versions.iter().map(|version| of(version));
        all.next()
            .is_none_or(|first| all.all(|other| other == first))
    }

    fn any_status(&self) -> bool {
        self.versions.iter().any(|version| has_status(version))
    }
}

fn has_status(version: &Value) -> bool {
    version["subresources"]["status"].is_object()
}

/// Checks the shared parts of a version, or the others.
fn parts(
    version: &Value,
    old: Option<&Value>,
    path: &str,
    common: &SharedVersionParts<'_>,
    if_common: bool,
    errors: &mut Vec<FieldError>,
) {
    let due = |key| common.is(key) == if_common;
    if due("schema") {
        let name = if if_common { "validation" } else { "schema" };
        let with_status = if if_common {
            common.any_status()
        } else {
            has_status(version)
        };
        let path = format!("{path}.{name}.openAPIV3Schema");
        root::check(
            &version["schema"]["openAPIV3Schema"],
            &path,
            with_status,
            errors,
        );
    }
    if due("subresources") {
        version::scale(
            &version["subresources"]["scale"],
            &format!("{path}.subresources"),
            errors,
        );
    }
    if due("additionalPrinterColumns") {
        version::columns(version, path, errors);
    }
    if due("selectableFields") && list(version, "selectableFields").next().is_some() {
        let before =
            old.and_then(|old| list(old, "versions").find(|it| it["name"] == version["name"]));
        let place = VersionPath {
            path,
            has_schema: common.is("schema") == if_common
                && version["schema"]["openAPIV3Schema"].is_object(),
            is_common: if_common,
        };
        version::selectable_fields(version, before, place, errors);
    }
}

fn group(spec: &Value, errors: &mut Vec<FieldError>) {
    let Some(group) = text(spec, "group") else {
        errors.push(FieldError::required("spec.group", ""));
        return;
    };
    let why = dns::subdomain(&group).or_else(|| {
        let short = !group.contains('.');
        short.then(|| "should be a domain with at least one dot".to_owned())
    });
    if let Some(why) = why {
        errors.push(FieldError::invalid("spec.group", group, why));
    }
}

/// Checks that the names of versions are unique, and that exactly one is the storage version.
fn storage(spec: &Value, versions: &[&Value], errors: &mut Vec<FieldError>) {
    let shown = internal::versions(&spec["versions"]);
    let path = || "spec.versions".to_owned();
    let name = |version: &Value| version["name"].clone();
    let repeated = (1..versions.len()).any(|at| {
        versions[..at]
            .iter()
            .any(|other| name(other) == name(versions[at]))
    });
    if repeated {
        let why = "must contain unique version names";
        errors.push(internal::invalid(path(), &shown, why));
    }
    if versions
        .iter()
        .filter(|version| version["storage"] == true)
        .count()
        != 1
    {
        let why = "must have exactly one version marked as storage version";
        errors.push(internal::invalid(path(), &shown, why));
    }
}

/// Checks the form of names. Another function checks that they exist.
pub(super) fn names(names: &Value, path: &str, errors: &mut Vec<FieldError>) {
    for key in ["plural", "singular"] {
        label(&names[key], format!("{path}.{key}"), errors);
    }
    for key in ["kind", "listKind"] {
        let name = text(names, key).unwrap_or_default();
        if let Some(why) = dns::label_1035(&name.to_lowercase()).filter(|_| !name.is_empty()) {
            let why = format!("may have mixed case, but should otherwise match: {why}");
            errors.push(FieldError::invalid(format!("{path}.{key}"), name, why));
        }
    }
    let mut each = |key: &str| {
        for (index, name) in list(names, key).enumerate() {
            if let Some(why) = dns::label_1035(name.as_str().unwrap_or_default()) {
                let path = format!("{path}.{key}[{index}]");
                errors.push(FieldError::invalid(path, name.clone(), why));
            }
        }
    };
    each("shortNames");
    each("categories");
    if let Some(kind) = text(names, "kind").filter(|kind| names["listKind"] == kind.as_str()) {
        let why = "kind and listKind may not be the same";
        errors.push(FieldError::invalid(format!("{path}.listKind"), kind, why));
    }
}
