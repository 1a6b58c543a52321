//! Validates volumes of Pods.

use serde_json::{Map, Value};

use super::super::path::{items, text};
use super::check::{self, Errors, join, required};
use crate::error::FieldError;
use crate::names;

pub(super) fn validate(volumes: &Value, path: &str) -> Errors {
    let mut errors = Vec::new();
    for (at, volume) in items(volumes).iter().enumerate() {
        let path = format!("{path}[{at}]");
        check::name(
            &mut errors,
            join(&path, "name"),
            text(volume, &["name"]),
            names::label,
        );
        validate_sources(&mut errors, volume, &path);
    }
    check::unique_names(&mut errors, volumes, path);
    errors
}

fn validate_sources(errors: &mut Errors, volume: &Value, path: &str) {
    let sources = volume.as_object().into_iter().flat_map(Map::iter);
    let sources = sources.filter(|(field, value)| *field != "name" && !value.is_null());
    for (at, (field, source)) in sources.enumerate() {
        let path = join(path, field);
        if at > 0 {
            let detail = "may not specify more than 1 volume type";
            errors.push(FieldError::forbidden(path, detail));
            continue;
        }
        match field.as_str() {
            "configMap" => {
                required(errors, source, &path, "name");
                validate_files(errors, source, &path);
            }
            "secret" => {
                required(errors, source, &path, "secretName");
                validate_files(errors, source, &path);
            }
            "downwardAPI" | "projected" => validate_mode(errors, source, &path, "defaultMode"),
            "persistentVolumeClaim" => required(errors, source, &path, "claimName"),
            "hostPath" => required(errors, source, &path, "path"),
            _ => {}
        }
    }
}

fn validate_mode(errors: &mut Errors, source: &Value, path: &str, field: &str) {
    let mode = &source[field];
    if mode
        .as_i64()
        .is_some_and(|mode| !(0..=0o777).contains(&mode))
    {
        let detail = "must be a number between 0 and 0777 (octal), both inclusive";
        errors.push(FieldError::invalid(join(path, field), mode.clone(), detail));
    }
}

fn validate_files(errors: &mut Errors, source: &Value, path: &str) {
    validate_mode(errors, source, path, "defaultMode");
    for (at, item) in items(&source["items"]).iter().enumerate() {
        let path = format!("{path}.items[{at}]");
        required(errors, item, &path, "key");
        validate_mode(errors, item, &path, "mode");
        let file = text(item, &["path"]);
        let path = join(&path, "path");
        if file.is_empty() {
            errors.push(FieldError::required(path, ""));
        } else if file.starts_with('/') {
            errors.push(FieldError::invalid(path, file, "must be a relative path"));
        } else if file.split('/').any(|part| part == "..") {
            errors.push(FieldError::invalid(path, file, "must not contain '..'"));
        }
    }
}
