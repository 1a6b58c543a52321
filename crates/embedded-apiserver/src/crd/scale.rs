//! The scale subresource: the paths of the replicas and the selector of a custom resource.
//!
//! <https://kubernetes.io/docs/tasks/extend-kubernetes/custom-resources/custom-resource-definitions/#scale-subresource>

use serde_json::{Map, Value};

use super::structural::text;
use crate::error::FieldError;
use crate::go;

/// The paths of a scale subresource.
#[derive(Debug, Clone)]
pub struct Scale {
    /// `specReplicasPath`, such as `.spec.replicas`.
    pub spec: String,
    /// `statusReplicasPath`
    pub status: String,
    /// `labelSelectorPath`
    pub selector: Option<String>,
}

impl Scale {
    /// Parses `subresources.scale`.
    pub(super) fn read(scale: &Value) -> Self {
        Self {
            spec: text(scale, "specReplicasPath").unwrap_or_default(),
            status: text(scale, "statusReplicasPath").unwrap_or_default(),
            selector: text(scale, "labelSelectorPath"),
        }
    }

    /// Returns the wanted replicas of an object, if it has the field. Errors have the message of the real
    /// server.
    pub fn spec_replicas(&self, object: &Value) -> Result<Option<i64>, String> {
        integer(object, &self.spec)
    }

    /// Returns the actual replicas.
    pub fn status_replicas(&self, object: &Value) -> Result<Option<i64>, String> {
        integer(object, &self.status)
    }

    /// Returns the label selector of the scaled Pods as text.
    pub fn selector(&self, object: &Value) -> Result<Option<String>, String> {
        let Some(path) = &self.selector else {
            return Ok(None);
        };
        match find(object, path)? {
            None => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.clone())),
            Some(other) => Err(wrong_type(path, other, "string")),
        }
    }

    /// Writes the wanted replicas. Creates missing objects on the path.
    pub fn set_spec_replicas(&self, object: &mut Value, replicas: i64) {
        let mut at = object;
        for key in keys(&self.spec) {
            if !at.is_object() {
                *at = Value::Object(Map::new());
            }
            at = &mut at[key];
        }
        *at = replicas.into();
    }

    /// Returns the error for invalid wanted replicas.
    pub(super) fn spec_errors(&self, object: &Value) -> Option<FieldError> {
        replicas_error(&self.spec, self.spec_replicas(object))
    }

    /// Returns the errors of the replicas and the selector in the status.
    pub(super) fn status_errors(&self, object: &Value) -> Vec<FieldError> {
        let replicas = replicas_error(&self.status, self.status_replicas(object));
        let selector = match (&self.selector, self.selector(object)) {
            (Some(path), Err(why)) => Some(FieldError::invalid(path, "", why)),
            _ => None,
        };
        replicas.into_iter().chain(selector).collect()
    }
}

fn replicas_error(path: &str, replicas: Result<Option<i64>, String>) -> Option<FieldError> {
    let most = i64::from(i32::MAX);
    let (value, why) = match replicas {
        Err(why) => (0, why),
        Ok(Some(value)) if value < 0 => (value, "should be a non-negative integer".to_owned()),
        Ok(Some(value)) if value > most => {
            (value, format!("should be less than or equal to {most}"))
        }
        Ok(_) => return None,
    };
    Some(FieldError::invalid(path, value, why))
}

fn keys(path: &str) -> impl Iterator<Item = &str> {
    path.strip_prefix('.').unwrap_or(path).split('.')
}

fn integer(object: &Value, path: &str) -> Result<Option<i64>, String> {
    match find(object, path)? {
        None => Ok(None),
        Some(value) => value
            .as_i64()
            .map(Some)
            .ok_or_else(|| wrong_type(path, value, "int64")),
    }
}

fn find<'a>(object: &'a Value, path: &str) -> Result<Option<&'a Value>, String> {
    let mut at = object;
    for key in keys(path) {
        at = match at {
            Value::Object(fields) => match fields.get(key) {
                Some(value) => value,
                None => return Ok(None),
            },
            Value::Null => return Ok(None),
            other => return Err(wrong_type(path, other, "map[string]interface{}")),
        };
    }
    Ok(Some(at))
}

fn wrong_type(path: &str, value: &Value, wanted: &str) -> String {
    let (shown, actual) = (go::plain(value), go::type_name(value));
    format!("{path} accessor error: {shown} is of the type {actual}, expected {wanted}")
}
