//! Validates ConfigMaps and Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use super::super::path::text;
use super::check::{Errors, each, unchanged};
use crate::error::{FieldError, FieldErrorKind};
use crate::names;
use crate::schema::decode;

/// The maximum size of all values of a ConfigMap or Secret, in bytes.
const MAX_BYTES: usize = 1024 * 1024;

fn entries(map: &Value) -> impl Iterator<Item = (&String, &str)> {
    let entries = map.as_object().into_iter().flat_map(Map::iter);
    entries.map(|(key, value)| (key, value.as_str().unwrap_or_default()))
}

fn validate_key(errors: &mut Errors, field: &str, key: &str) {
    each(
        errors,
        &format!("{field}[{key}]"),
        key,
        names::config_key(key),
    );
}

/// Returns the number of bytes that a base64 text encodes.
fn decoded_length(text: &str) -> usize {
    text.trim_end_matches('=').len() * 3 / 4
}

fn too_long(errors: &mut Errors, path: &str, size: usize) {
    if size > MAX_BYTES {
        let detail = format!("may not be more than {MAX_BYTES} bytes");
        errors.push(FieldError::new(FieldErrorKind::TooLong, path, "", detail));
    }
}

pub(super) fn validate_config_map(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    if let Some(old) = old {
        immutable(&mut errors, object, old, &["data", "binaryData"]);
    }
    let mut size = 0;
    for (key, value) in entries(&object["data"]) {
        validate_key(&mut errors, "data", key);
        if object["binaryData"].get(key).is_some() {
            let detail = "duplicate of key present in binaryData";
            errors.push(FieldError::invalid(
                format!("data[{key}]"),
                key.as_str(),
                detail,
            ));
        }
        size += value.len();
    }
    for (key, value) in entries(&object["binaryData"]) {
        validate_key(&mut errors, "binaryData", key);
        size += decoded_length(value);
    }
    // The real server reports this error with the path `[]`, which names no field.
    too_long(&mut errors, "[]", size);
    errors
}

/// Checks that an immutable object keeps its data and stays immutable.
fn immutable(errors: &mut Errors, object: &Value, old: &Value, data: &[&str]) {
    if old["immutable"] != json!(true) {
        return;
    }
    let detail = "field is immutable when `immutable` is set";
    if object["immutable"] != json!(true) {
        errors.push(FieldError::forbidden("immutable", detail));
    }
    for field in data {
        if object[*field] != old[*field] {
            errors.push(FieldError::forbidden(*field, detail));
        }
    }
}

pub(super) fn validate_secret(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    if let Some(old) = old {
        unchanged(&mut errors, object, old, &["type"]);
        immutable(&mut errors, object, old, &["data"]);
    }
    let mut size = 0;
    for (key, value) in entries(&object["data"]) {
        validate_key(&mut errors, "data", key);
        size += decoded_length(value);
    }
    too_long(&mut errors, "data", size);
    validate_type(&mut errors, object);
    errors
}

/// Checks the keys that a Secret of a type requires.
fn validate_type(errors: &mut Errors, object: &Value) {
    let data = &object["data"];
    let missing = |key: &str| data.get(key).is_none();
    let required = |key: &str| FieldError::required(format!("data[{key}]"), "");
    match text(object, &["type"]) {
        "kubernetes.io/tls" => {
            let keys = ["tls.crt", "tls.key"].into_iter();
            errors.extend(keys.filter(|key| missing(key)).map(required));
        }
        "kubernetes.io/basic-auth" => {
            let keys = ["username", "password"];
            if keys.iter().all(|key| missing(key)) {
                errors.extend(keys.into_iter().map(required));
            }
        }
        "kubernetes.io/ssh-auth" if text(data, &["ssh-privatekey"]).is_empty() => {
            errors.push(required("ssh-privatekey"));
        }
        "kubernetes.io/dockercfg" => validate_json(errors, data, ".dockercfg"),
        "kubernetes.io/dockerconfigjson" => validate_json(errors, data, ".dockerconfigjson"),
        "kubernetes.io/service-account-token" => {
            let key = "kubernetes.io/service-account.name";
            if text(object, &["metadata", "annotations", key]).is_empty() {
                let path = format!("metadata.annotations[{key}]");
                errors.push(FieldError::required(path, ""));
            }
        }
        _ => {}
    }
}

fn validate_json(errors: &mut Errors, data: &Value, key: &str) {
    let path = format!("data[{key}]");
    let Some(encoded) = data[key].as_str() else {
        errors.push(FieldError::required(path, ""));
        return;
    };
    let decoded = STANDARD.decode(encoded).unwrap_or_default();
    if decode::json(&decoded).is_err() {
        let first = decoded.iter().find(|byte| !byte.is_ascii_whitespace());
        let detail = match first {
            None => "unexpected end of JSON input".to_owned(),
            Some(_) => wrong_json(&decoded),
        };
        errors.push(FieldError::invalid(
            path,
            "<secret contents redacted>",
            detail,
        ));
    }
}

/// Returns the error of Go's decoder for a text that is not JSON.
fn wrong_json(text: &[u8]) -> String {
    let text = text.trim_ascii_start();
    let first = text.first().map_or(' ', |byte| char::from(*byte));
    let literals = ["null", "true", "false"];
    let Some(literal) = literals
        .into_iter()
        .find(|literal| literal.starts_with(first))
    else {
        return format!("invalid character '{first}' looking for beginning of value");
    };
    let mut pairs = literal.bytes().zip(text);
    match pairs.find(|(expected, found)| expected != *found) {
        Some((expected, found)) => format!(
            "invalid character '{}' in literal {literal} (expecting '{}')",
            char::from(*found),
            char::from(expected)
        ),
        None => "unexpected end of JSON input".to_owned(),
    }
}
