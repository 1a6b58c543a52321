//! The outcome of checking a value.

use serde_json::Value;

use super::path::Path;
use crate::crd::text;
use crate::error::{FieldError, FieldErrorKind};
use crate::go;

/// The failures, and the number of checks that passed. Among several alternatives, the one with the most
/// passed checks is reported.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    pub(super) failures: Vec<Failure>,
    pub(super) matches: usize,
}

/// A check that failed.
#[derive(Debug)]
pub(super) struct Failure {
    /// Absent for failures of junctors, which belong to no field.
    path: Option<String>,
    kind: FieldErrorKind,
    value: Option<Value>,
    detail: String,
}

impl Outcome {
    pub(super) fn matched(matches: usize) -> Self {
        Self {
            failures: Vec::new(),
            matches,
        }
    }

    pub(super) fn is_valid(&self) -> bool {
        self.failures.is_empty()
    }

    /// Adds a failure, unless it has already been added.
    pub(super) fn add(&mut self, failure: Failure) {
        if !self.failures.iter().any(|it| it.is_same(&failure)) {
            self.failures.push(failure);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        for failure in other.failures {
            self.add(failure);
        }
    }
}

impl From<Failure> for Outcome {
    fn from(failure: Failure) -> Self {
        Self {
            failures: vec![failure],
            matches: 0,
        }
    }
}

impl Failure {
    fn new(path: &Path<'_>, kind: FieldErrorKind, value: Option<Value>, detail: String) -> Self {
        Self {
            path: Some(path.to_string()),
            kind,
            value,
            detail,
        }
    }

    /// Returns the failure `<path> in body <why>`.
    pub(super) fn invalid(path: &Path<'_>, value: impl Into<Value>, why: &str) -> Self {
        let detail = format!("{path} in body {why}");
        Self::new(path, FieldErrorKind::Invalid, Some(value.into()), detail)
    }

    /// Returns a failure with any message.
    pub(super) fn at(path: &Path<'_>, value: Value, detail: String) -> Self {
        Self::new(path, FieldErrorKind::Invalid, Some(value), detail)
    }

    /// Returns the failure `<path> in body must be of type <wanted>: "<actual>"`. The reported value is
    /// `actual` as well.
    pub(super) fn wrong_type(path: &Path<'_>, wanted: &str, actual: &str) -> Self {
        let quoted = go::quote(actual);
        let detail = format!("{path} in body must be of type {wanted}: {quoted}");
        Self::new(
            path,
            FieldErrorKind::TypeInvalid,
            Some(actual.into()),
            detail,
        )
    }

    /// Returns the failure `Required value`.
    pub(super) fn required(path: &Path<'_>) -> Self {
        Self::new(path, FieldErrorKind::Required, None, String::new())
    }

    /// Returns the failure `Too long: may not be more than 5 bytes`.
    pub(super) fn too_long(path: &Path<'_>, most: i64) -> Self {
        let bytes = if most == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {most} {bytes}");
        Self::new(path, FieldErrorKind::TooLong, None, detail)
    }

    /// Returns the failure `Too many: 4: must have at most 3 items`.
    pub(super) fn too_many(path: &Path<'_>, size: i64, most: i64) -> Self {
        let items = if most == 1 { "item" } else { "items" };
        let detail = format!("must have at most {most} {items}");
        Self::new(path, FieldErrorKind::TooMany, Some(size.into()), detail)
    }

    /// Returns the failure `Unsupported value: "z": supported values: "a", "b"`.
    pub(super) fn not_supported(path: &Path<'_>, value: &Value, supported: &[Value]) -> Self {
        let names: Vec<String> = supported
            .iter()
            .map(|one| one.as_str().map_or_else(|| one.to_string(), str::to_owned))
            .collect();
        let quoted = text::quoted_list(names.iter().map(String::as_str));
        let detail = format!("supported values: {quoted}");
        Self::new(
            path,
            FieldErrorKind::NotSupported,
            Some(value.clone()),
            detail,
        )
    }

    /// Returns the failure for a key that `additionalProperties: false` does not allow.
    pub(super) fn forbidden_property(path: &Path<'_>, key: &str) -> Self {
        let detail = format!("{path}.{key} in body is a forbidden property");
        Self::new(path, FieldErrorKind::Invalid, Some(key.into()), detail)
    }

    /// Returns the failure of a junctor, whose message contains the path.
    pub(super) fn composite(path: &Path<'_>, why: &str) -> Self {
        Self::loose(format!("{} {why}", go::quote(&path.to_string())))
    }

    /// Returns a failure that belongs to no field.
    pub(super) fn loose(detail: String) -> Self {
        Self {
            path: None,
            kind: FieldErrorKind::Invalid,
            value: Some("".into()),
            detail,
        }
    }

    fn is_same(&self, other: &Self) -> bool {
        self.path == other.path && self.kind == other.kind && self.detail == other.detail
    }

    pub(super) fn error(self, root: &str) -> FieldError {
        let name = self.path.unwrap_or_default();
        let name = name.strip_prefix('.').unwrap_or(&name);
        let path = match (root, name) {
            ("", "") => "<nil>".to_owned(),
            ("", name) => name.to_owned(),
            (root, "") => root.to_owned(),
            (root, name) => format!("{root}.{name}"),
        };
        FieldError {
            kind: self.kind,
            path,
            value: self.value,
            detail: self.detail,
        }
    }
}
