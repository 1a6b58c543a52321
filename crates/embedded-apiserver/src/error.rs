//! Errors of requests: the Kubernetes `Status` object and its field errors.
//!
//! The messages are those of the real server, because clients and people read them.

use std::fmt;

use serde_json::{Map, Value, json};

/// An API error, which becomes a `Status` object in the response.
///
/// <https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/>
#[derive(Debug, Clone, PartialEq)]
pub struct ApiError {
    /// The HTTP status code.
    pub code: u16,
    /// A machine-readable reason such as `NotFound`, absent where the real server sends none.
    pub reason: Option<&'static str>,
    /// The human-readable message.
    pub message: String,
    /// The `details` of the `Status`: name, group, kind (the plural of the resource), causes and so on.
    pub details: Option<Map<String, Value>>,
    /// `metadata.continue`: the token with which the client can continue an expired list.
    pub continue_token: Option<String>,
}

/// A validation error of a field, like `field.Error` of apimachinery.
#[derive(Debug, Clone, PartialEq)]
pub struct FieldError {
    /// The kind of the error.
    pub kind: FieldErrorKind,
    /// The path in the notation of apimachinery: `spec.ports[0].name`, `metadata.labels[a b]`.
    pub path: String,
    /// The invalid value as the message shows it. Absent for errors that show no value.
    pub value: Option<Value>,
    /// The explanation, such as the expected value.
    pub detail: String,
}

/// The kinds of [`FieldError`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FieldErrorKind {
    /// `FieldValueNotFound`
    NotFound,
    /// `FieldValueRequired`
    Required,
    /// `FieldValueDuplicate`
    Duplicate,
    /// `FieldValueInvalid`
    Invalid,
    /// `FieldValueTypeInvalid`
    TypeInvalid,
    /// `FieldValueNotSupported`
    NotSupported,
    /// `FieldValueForbidden`
    Forbidden,
    /// `FieldValueTooLong`
    TooLong,
    /// `FieldValueTooMany`
    TooMany,
}

impl FieldErrorKind {
    /// Returns the `reason` of the cause in a `Status`.
    pub fn reason(self) -> &'static str {
        match self {
            Self::NotFound => "FieldValueNotFound",
            Self::Required => "FieldValueRequired",
            Self::Duplicate => "FieldValueDuplicate",
            Self::Invalid => "FieldValueInvalid",
            Self::TypeInvalid => "FieldValueTypeInvalid",
            Self::NotSupported => "FieldValueNotSupported",
            Self::Forbidden => "FieldValueForbidden",
            Self::TooLong => "FieldValueTooLong",
            Self::TooMany => "FieldValueTooMany",
        }
    }

    fn text(self) -> &'static str {
        match self {
            Self::NotFound => "Not found",
            Self::Required => "Required value",
            Self::Duplicate => "Duplicate value",
            Self::Invalid | Self::TypeInvalid => "Invalid value",
            Self::NotSupported => "Unsupported value",
            Self::Forbidden => "Forbidden",
            Self::TooLong => "Too long",
            Self::TooMany => "Too many",
        }
    }
}

impl FieldError {
    /// Returns an error that shows the invalid value.
    pub fn new(
        kind: FieldErrorKind,
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self {
            kind,
            path: path.into(),
            value: Some(value.into()),
            detail: detail.into(),
        }
    }

    /// Returns the error `Invalid value: <value>: <detail>`.
    pub fn invalid(
        path: impl Into<String>,
        value: impl Into<Value>,
        detail: impl Into<String>,
    ) -> Self {
        Self::new(FieldErrorKind::Invalid, path, value, detail)
    }

    /// Returns an error with a preformatted value. Go prints the fields of a struct in their own order, which
    /// differs from the key order of a JSON value.
    pub fn shown(kind: FieldErrorKind, path: impl Into<String>, value: &str, detail: &str) -> Self {
        Self {
            kind,
            path: path.into(),
            value: None,
            detail: match detail {
                "" => value.to_owned(),
                detail => format!("{value}: {detail}"),
            },
        }
    }

    /// Returns the error `Required value[: <detail>]`.
    pub fn required(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Required,
            path: path.into(),
            value: None,
            detail: detail.into(),
        }
    }

    /// Returns the error `Forbidden: <detail>`.
    pub fn forbidden(path: impl Into<String>, detail: impl Into<String>) -> Self {
        Self {
            kind: FieldErrorKind::Forbidden,
            path: path.into(),
            value: None,
            detail: detail.into(),
        }
    }

    /// Returns the error `Duplicate value: <value>`.
    pub fn duplicate(path: impl Into<String>, value: impl Into<Value>) -> Self {
        Self::new(FieldErrorKind::Duplicate, path, value, "")
    }

    /// Returns the error `Unsupported value: <value>: supported values: "a", "b"`.
    pub fn not_supported(
        path: impl Into<String>,
        value: impl Into<Value>,
        supported: &[&str],
    ) -> Self {
        let supported: Vec<String> = supported.iter().map(|one| format!("{one:?}")).collect();
        let detail = format!("supported values: {}", supported.join(", "));
        Self::new(FieldErrorKind::NotSupported, path, value, detail)
    }

    /// Returns the message without the path, as in the `message` of a cause.
    pub fn body(&self) -> String {
        let mut body = self.kind.text().to_owned();
        if let Some(value) = &self.value
            && self.kind != FieldErrorKind::TooLong
        {
            body = format!("{body}: {}", shown(value));
        }
        if !self.detail.is_empty() {
            body = format!("{body}: {}", self.detail);
        }
        body
    }

    fn cause(&self) -> Value {
        json!({"reason": self.kind.reason(), "message": self.body(), "field": self.path})
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.path, self.body())
    }
}

impl ApiError {
    /// Returns an error without details.
    fn new(code: u16, reason: Option<&'static str>, message: impl Into<String>) -> Self {
        Self {
            code,
            reason,
            message: message.into(),
            details: None,
            continue_token: None,
        }
    }

    /// Returns a 415 `UnsupportedMediaType`.
    pub(crate) fn unsupported_media_type(message: impl Into<String>) -> Self {
        Self::new(415, Some("UnsupportedMediaType"), message)
    }

    /// Returns a 406 `NotAcceptable`.
    pub(crate) fn not_acceptable(message: impl Into<String>) -> Self {
        Self::new(406, Some("NotAcceptable"), message)
    }

    /// Returns a 408 `Timeout` for a request whose body did not arrive in time.
    pub(crate) fn request_timeout(message: impl Into<String>) -> Self {
        Self::new(408, Some("Timeout"), message)
    }

    /// Returns a 413 `RequestEntityTooLarge`.
    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new(413, Some("RequestEntityTooLarge"), message)
    }

    /// Returns a 501 `NotImplemented`.
    pub(crate) fn not_implemented(message: impl Into<String>) -> Self {
        Self::new(501, Some("NotImplemented"), message)
    }

    /// Returns a 403 `Forbidden`.
    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new(403, Some("Forbidden"), message)
    }

    /// Returns a 500 without a reason.
    pub(crate) fn unclassified(message: impl Into<String>) -> Self {
        Self::new(500, None, message)
    }

    /// Returns this error as a 500 without a reason.
    pub(crate) fn without_class(self) -> Self {
        Self {
            code: 500,
            reason: None,
            ..self
        }
    }

    /// Returns a 409 `Conflict` with any message.
    pub(crate) fn conflicting(message: impl Into<String>) -> Self {
        Self::new(409, Some("Conflict"), message)
    }

    /// Returns a 500 `InternalError` with any message.
    pub(crate) fn internal_error(message: impl Into<String>) -> Self {
        Self::new(500, Some("InternalError"), message)
    }

    /// Returns a 429 `TooManyRequests`.
    pub(crate) fn too_many_requests(message: impl Into<String>) -> Self {
        Self::new(429, Some("TooManyRequests"), message)
    }

    /// Returns a 504 `Timeout` for a resourceVersion that the store has not reached.
    pub(crate) fn not_reached(message: impl Into<String>) -> Self {
        Self::new(504, Some("Timeout"), message)
    }

    /// Returns a 410 `Expired`.
    pub(crate) fn expired(message: impl Into<String>) -> Self {
        Self::new(410, Some("Expired"), message)
    }

    /// Returns a 405 `MethodNotAllowed`.
    pub(crate) fn method_not_allowed(message: impl Into<String>) -> Self {
        Self::new(405, Some("MethodNotAllowed"), message)
    }

    /// Returns a 422 `Invalid` with any message.
    pub(crate) fn unprocessable(message: impl Into<String>) -> Self {
        Self::new(422, Some("Invalid"), message)
    }

    /// Returns the error of a write that a `ValidatingAdmissionPolicy` denies for a reason of its own.
    pub(crate) fn denied(reason: &str, message: impl Into<String>) -> Self {
        match reason {
            "Forbidden" => Self::forbidden(message),
            "RequestEntityTooLarge" => Self::too_large(message),
            "Unauthorized" => Self::new(401, Some("Unauthorized"), message),
            _ => Self::unprocessable(message),
        }
    }

    /// Returns the 403 `Invalid` of a write whose mutation by a `MutatingAdmissionPolicy` fails.
    pub(crate) fn mutation_failed(message: impl Into<String>) -> Self {
        Self::new(403, Some("Invalid"), message)
    }

    /// Returns a 404 `NotFound` with any message.
    pub(crate) fn unknown(message: impl Into<String>) -> Self {
        Self::new(404, Some("NotFound"), message)
    }

    /// Returns a 401 `Unauthorized`.
    pub(crate) fn unauthorized() -> Self {
        Self::new(401, Some("Unauthorized"), "Unauthorized")
    }

    /// Returns the 422 `Invalid` for a patch whose result is not an object of the kind. `shown` is the patch
    /// or its result.
    pub(crate) fn invalid_patch(shown: String, detail: impl Into<String>) -> Self {
        let error = FieldError::invalid("patch", shown, detail);
        Self::invalid("", "", "", &[error])
    }

    /// Returns the 404 for a resource that a built-in group does not have.
    pub(crate) fn no_resource() -> Self {
        Self::unknown("the server could not find the requested resource").with_empty_details()
    }

    /// Returns the 405 for a verb that a built-in resource does not support.
    pub(crate) fn verb_not_allowed() -> Self {
        let message = "the server does not allow this method on the requested resource";
        Self::method_not_allowed(message).with_empty_details()
    }

    /// Returns the 501 for an operation that this server does not implement.
    pub(crate) fn operation_not_implemented() -> Self {
        Self::not_implemented("the server does not implement this operation")
    }

    /// Returns a 400 `BadRequest`.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(400, Some("BadRequest"), message)
    }

    /// Returns a 500 `InternalError`: `Internal error occurred: <why>`.
    pub fn internal(why: &str) -> Self {
        let message = format!("Internal error occurred: {why}");
        Self::new(500, Some("InternalError"), message)
            .with_detail("causes", json!([{"message": why}]))
    }

    /// Returns a 404 `NotFound`: `widgets.ex.io "a" not found`.
    pub fn not_found(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {name:?} not found", qualified(plural, group));
        Self::new(404, Some("NotFound"), message).about(group, plural, name)
    }

    /// Returns a 409 `AlreadyExists`: `widgets.ex.io "a" already exists`.
    pub fn already_exists(group: &str, plural: &str, name: &str) -> Self {
        let message = format!("{} {name:?} already exists", qualified(plural, group));
        Self::new(409, Some("AlreadyExists"), message).about(group, plural, name)
    }

    /// Returns a 409 `Conflict`: `Operation cannot be fulfilled on widgets.ex.io "a": <why>`.
    pub fn conflict(group: &str, plural: &str, name: &str, why: &str) -> Self {
        let message = format!(
            "Operation cannot be fulfilled on {} {name:?}: {why}",
            qualified(plural, group)
        );
        Self::new(409, Some("Conflict"), message).about(group, plural, name)
    }

    /// Returns a 422 `Invalid`: `Widget.ex.io "a" is invalid: <one error, or a list of them>`.
    pub fn invalid(group: &str, kind: &str, name: &str, errors: &[FieldError]) -> Self {
        let mut texts: Vec<String> = errors.iter().map(ToString::to_string).collect();
        let mut seen = std::collections::HashSet::new();
        texts.retain(|text| seen.insert(text.clone()));
        let list = match texts.as_slice() {
            [one] => one.clone(),
            several => format!("[{}]", several.join(", ")),
        };
        let message = format!("{} {name:?} is invalid: {list}", qualified(kind, group));
        let mut error = Self::new(422, Some("Invalid"), message).about(group, kind, name);
        let causes: Vec<Value> = errors.iter().map(FieldError::cause).collect();
        if !causes.is_empty() {
            error = error.with_detail("causes", Value::Array(causes));
        }
        error
    }

    /// Adds the name, group and kind to the details. Omits empty values.
    #[must_use]
    pub fn about(mut self, group: &str, kind: &str, name: &str) -> Self {
        for (key, value) in [("name", name), ("group", group), ("kind", kind)] {
            if !value.is_empty() {
                self = self.with_detail(key, value.into());
            }
        }
        self
    }

    /// Sets the token with which the client can continue an expired list.
    #[must_use]
    pub fn with_continue(mut self, token: String) -> Self {
        self.continue_token = Some(token);
        self
    }

    /// Adds an empty `details` object if there is none, as generic errors of the real server have.
    #[must_use]
    pub fn with_empty_details(mut self) -> Self {
        self.details.get_or_insert_default();
        self
    }

    /// Adds one key to the details.
    #[must_use]
    pub fn with_detail(mut self, key: &str, value: Value) -> Self {
        self.details
            .get_or_insert_default()
            .insert(key.to_owned(), value);
        self
    }

    /// Returns the `Status` object of the response.
    pub fn status(&self) -> Value {
        let mut status = json!({
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": {},
            "status": "Failure",
            "message": self.message,
            "code": self.code,
        });
        if let Some(reason) = self.reason {
            status["reason"] = reason.into();
        }
        if let Some(token) = &self.continue_token {
            status["metadata"]["continue"] = token.as_str().into();
        }
        if let Some(details) = &self.details {
            status["details"] = Value::Object(details.clone());
        }
        status
    }
}

impl fmt::Display for ApiError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for ApiError {}

/// Formats a value for a message: as JSON, but a large number has the exponent that Go writes.
fn shown(value: &Value) -> String {
    let text = value.to_string();
    match (value, text.split_once('e')) {
        (Value::Number(_), Some((digits, power))) if !power.starts_with(['-', '+']) => {
            format!("{digits}e+{power}")
        }
        _ => text,
    }
}

/// Returns a plural or kind with its group as the real server writes it: `widgets.ex.io`, `pods`.
fn qualified(name: &str, group: &str) -> String {
    if group.is_empty() {
        name.to_owned()
    } else {
        format!("{name}.{group}")
    }
}
