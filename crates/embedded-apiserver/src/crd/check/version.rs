//! Checks the parts of a version other than its schema.

use serde_json::Value;

use crate::crd::rules;
use crate::crd::structural::{Structural, list, text};
use crate::error::{FieldError, FieldErrorKind};

/// The maximum number of selectable fields.
const SELECTABLE_LIMIT: usize = 8;

/// The path of the parts of a version.
#[derive(Clone, Copy)]
pub(super) struct VersionPath<'a> {
    pub(super) path: &'a str,
    /// True if errors of the schema have this path as well.
    pub(super) has_schema: bool,
    /// True if the path is that of the definition.
    pub(super) is_common: bool,
}

pub(super) fn deprecation(version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    let Some(warning) = version["deprecationWarning"].as_str() else {
        return;
    };
    let mut refuse = |why: String| {
        errors.push(FieldError::invalid(
            format!("{path}.deprecationWarning"),
            warning,
            why,
        ));
    };
    if version["deprecated"] != true {
        refuse("can only be set for deprecated versions".to_owned());
        return;
    }
    if warning.len() > 256 {
        refuse("must be <= 256 characters long".to_owned());
    }
    if warning.is_empty() {
        refuse("must not be an empty string".to_owned());
    }
    if let Some((index, _)) = warning.char_indices().find(|(_, it)| it.is_control()) {
        refuse(format!(
            "must only contain printable UTF-8 characters; non-printable character found at \
             index {index}"
        ));
    }
}

pub(super) fn scale(scale: &Value, path: &str, errors: &mut Vec<FieldError>) {
    if !scale.is_object() {
        return;
    }
    for (key, within, named) in [
        ("specReplicasPath", &[".spec."][..], ".spec"),
        ("statusReplicasPath", &[".status."][..], ".status"),
        (
            "labelSelectorPath",
            &[".spec.", ".status."][..],
            "either .spec or .status",
        ),
    ] {
        let at = format!("{path}.scale.{key}");
        match text(scale, key) {
            None if key == "labelSelectorPath" => {}
            None => errors.push(FieldError::required(at, "")),
            Some(value) => {
                let why = json_path_error(&value).map(str::to_owned).or_else(|| {
                    let outside = !within.iter().any(|start| value.starts_with(start));
                    outside.then(|| format!("should be a json path under {named}"))
                });
                errors.extend(why.map(|why| FieldError::invalid(at, value, why)));
            }
        }
    }
}

fn json_path_error(path: &str) -> Option<&'static str> {
    (!path.starts_with('.')).then_some("must be a simple json path starting with .")
}

pub(super) fn columns(version: &Value, path: &str, errors: &mut Vec<FieldError>) {
    const TYPES: [&str; 5] = ["boolean", "date", "integer", "number", "string"];
    const FORMATS: [&str; 8] = [
        "byte",
        "date",
        "date-time",
        "double",
        "float",
        "int32",
        "int64",
        "password",
    ];
    for (index, column) in list(version, "additionalPrinterColumns").enumerate() {
        let path = format!("{path}.additionalPrinterColumns[{index}]");
        if text(column, "name").is_none() {
            errors.push(FieldError::required(format!("{path}.name"), ""));
        }
        let types = format!("must be one of {}", TYPES.join(","));
        match text(column, "type") {
            None => errors.push(FieldError::required(format!("{path}.type"), types)),
            Some(kind) if TYPES.contains(&kind.as_str()) => {}
            Some(kind) => errors.push(FieldError::invalid(format!("{path}.type"), kind, types)),
        }
        if let Some(format) = text(column, "format").filter(|it| !FORMATS.contains(&it.as_str())) {
            let why = format!("must be one of {}", FORMATS.join(","));
            errors.push(FieldError::invalid(format!("{path}.format"), format, why));
        }
        let at = format!("{path}.JSONPath");
        match text(column, "jsonPath") {
            None => errors.push(FieldError::required(at, "")),
            Some(value) => {
                let why = json_path_error(&value);
                errors.extend(why.map(|why| FieldError::invalid(at, value, why)));
            }
        }
    }
}

pub(super) fn selectable_fields(
    version: &Value,
    old: Option<&Value>,
    place: VersionPath<'_>,
    errors: &mut Vec<FieldError>,
) {
    let path = format!("{}.selectableFields", place.path);
    if !place.has_schema {
        let why = if place.is_common {
            "may only be set when validations.schema is included"
        } else {
            "may only be set when `version.schema.openAPIV3Schema` is not included"
        };
        errors.push(FieldError::invalid(path, "", why));
        return;
    }
    let schema = Structural::read(&version["schema"]["openAPIV3Schema"]);
    let mut seen: Vec<String> = Vec::new();
    for (index, field) in list(version, "selectableFields").enumerate() {
        let at = format!("{path}[{index}].jsonPath");
        let Some(field) = text(field, "jsonPath") else {
            errors.push(FieldError::required(at, ""));
            continue;
        };
        match rules::find_field(&field, &schema, false) {
            Err(why) => {
                let why = format!("is an invalid path: {why}");
                errors.push(FieldError::invalid(at, field, why));
            }
            Ok(found) => {
                if let Some(why) = unselectable(&found) {
                    errors.push(FieldError::invalid(at.as_str(), field.as_str(), why));
                }
                if seen.contains(&found.path) {
                    errors.push(FieldError::duplicate(at, field));
                } else {
                    seen.push(found.path);
                }
            }
        }
    }
    let same = old.is_some_and(|old| old["selectableFields"] == version["selectableFields"]);
    if seen.len() > SELECTABLE_LIMIT && !same {
        let why = format!("must have at most {SELECTABLE_LIMIT} items");
        errors.push(FieldError::new(
            FieldErrorKind::TooMany,
            path,
            seen.len(),
            why,
        ));
    }
}

fn unselectable(found: &rules::ResolvedPath<'_>) -> Option<&'static str> {
    if found.path == "metadata" || found.path.starts_with("metadata.") {
        return Some("must not point to fields in metadata");
    }
    let scalar = matches!(
        found.schema.kind.as_deref(),
        Some("string" | "boolean" | "integer")
    );
    (!scalar).then_some(
        "must point to a field of type string, boolean or integer. Enum string fields and strings \
         with formats are allowed.",
    )
}
