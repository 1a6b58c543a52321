//! Errors of requests: their class, and whether and when to retry.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

use http::StatusCode;
use serde::Deserialize;

/// The class of a failure. Scripts see it as `kind`, in `snake_case`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The object does not exist.
    NotFound,
    /// The cluster does not serve this kind.
    KindAbsent,
    /// Another client changed the object, or another manager owns a field of the apply.
    Conflict,
    /// The object of a create exists already.
    AlreadyExists,
    /// RBAC, admission or the permissions of the role refuse the request.
    Forbidden,
    /// The server does not accept the credentials.
    Unauthorized,
    /// The object or the request is not valid.
    Invalid,
    /// The kind does not support the verb.
    MethodNotAllowed,
    /// The server limits the rate of requests.
    TooManyRequests,
    /// No answer within the deadline.
    Timeout,
    /// The server failed, or is not ready yet.
    ServerError,
    /// The connection failed or was closed.
    Unreachable,
    /// The requested resource version is too old.
    Gone,
    /// The namespace is being deleted and accepts no new objects.
    NamespaceTerminating,
    /// Writes are no longer allowed: the process lost the lease, or is stopping.
    Cancelled,
    /// The answer is not a valid answer of Kubernetes.
    Malformed,
}

impl ErrorKind {
    /// Returns the word that scripts, logs and metrics use, which is one of a fixed set.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::NotFound => "not_found",
            Self::KindAbsent => "kind_absent",
            Self::Conflict => "conflict",
            Self::AlreadyExists => "already_exists",
            Self::Forbidden => "forbidden",
            Self::Unauthorized => "unauthorized",
            Self::Invalid => "invalid",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::TooManyRequests => "too_many_requests",
            Self::Timeout => "timeout",
            Self::ServerError => "server_error",
            Self::Unreachable => "unreachable",
            Self::Gone => "gone",
            Self::NamespaceTerminating => "namespace_terminating",
            Self::Cancelled => "cancelled",
            Self::Malformed => "malformed",
        }
    }
}

/// A failed request. It derefs to its details.
#[derive(Clone, Debug)]
pub struct Error(Box<ErrorDetails>);

/// The details of an [`Error`], which derefs to them.
#[derive(Clone, Debug)]
pub struct ErrorDetails {
    /// Its class.
    pub kind: ErrorKind,
    /// The HTTP status; `None` if there was no answer.
    pub code: Option<u16>,
    /// The reason of the server (`NotFound`, `Conflict`, …), or of this crate.
    pub reason: String,
    /// The message of the server, or of this crate.
    pub message: String,
    /// True if the same request may succeed later.
    pub retryable: bool,
    /// The delay that the server requests (`Retry-After`).
    pub after: Option<Duration>,
    /// The invalid fields that the server names.
    pub causes: Vec<Cause>,
    /// True if the server may have executed an earlier attempt of the call.
    pub repeated: bool,
    /// The object or collection of the request.
    pub target: Target,
}

/// An invalid field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Path of the field.
    pub field: String,
    /// The reason of the server.
    pub reason: String,
    /// The message of the server.
    pub message: String,
}

/// The object or collection of a request, for messages.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Target {
    /// `get`, `list`, `create`, `apply`, `patch`, `delete`, …
    pub verb: &'static str,
    /// `deployments.apps`, with `/scale` for a subresource.
    pub resource: String,
    /// Namespace, empty for none.
    pub namespace: String,
    /// Name, empty for a collection.
    pub name: String,
}

impl Deref for Error {
    type Target = ErrorDetails;

    fn deref(&self) -> &ErrorDetails {
        &self.0
    }
}

impl From<ErrorDetails> for Error {
    fn from(parts: ErrorDetails) -> Self {
        Self(Box::new(parts))
    }
}

/// Returns a part of a target for a message. A name can come from data, and be longer than a server
/// accepts.
struct Truncated<'a>(&'a str);

impl fmt::Display for Truncated<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// The maximum length of a name for most kinds.
        const LIMIT: usize = 253;
        match self.0.char_indices().nth(LIMIT) {
            Some((end, _)) => write!(f, "{}…", &self.0[..end]),
            None => f.write_str(self.0),
        }
    }
}

/// `get deployments.apps ns/name`
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [resource, namespace, name] =
            [&self.resource, &self.namespace, &self.name].map(|text| Truncated(text));
        write!(f, "{} {resource}", self.verb)?;
        match (self.namespace.is_empty(), self.name.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => write!(f, " {name}"),
            (false, true) => write!(f, " in {namespace}"),
            (false, false) => write!(f, " {namespace}/{name}"),
        }
    }
}

/// `get deployments.apps ns/name: what the server said`
impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.target, self.message)
    }
}

impl std::error::Error for Error {}

impl Error {
    /// Creates a failure that has no answer of a server.
    pub fn local(kind: ErrorKind, message: impl Into<String>, target: Target) -> Self {
        Self::from(ErrorDetails {
            kind,
            code: None,
            reason: String::new(),
            message: message.into(),
            retryable: is_transient(kind),
            after: None,
            causes: Vec::new(),
            repeated: false,
            target,
        })
    }

    pub(super) fn repeated(mut self, repeated: bool) -> Self {
        self.0.repeated = repeated;
        self
    }

    /// Creates the error of a connection that failed or was closed.
    pub(super) fn unreachable(cause: &(dyn std::error::Error + 'static), target: Target) -> Self {
        Self::local(ErrorKind::Unreachable, chain(cause), target)
    }
}

/// Joins an error and its causes, without repetitions.
pub(super) fn chain(error: &(dyn std::error::Error + 'static)) -> String {
    let text = error.to_string();
    // An internal name of the client, without information for users.
    let mut text = text.trim_start_matches("ServiceError: ").to_owned();
    let mut source = error.source();
    while let Some(cause) = source {
        let words = cause.to_string();
        if !text.contains(&words) {
            text.push_str(": ");
            text.push_str(&words);
        }
        source = cause.source();
    }
    text
}

/// Returns whether a failure of this class can disappear without a change.
fn is_transient(kind: ErrorKind) -> bool {
    matches!(
        kind,
        ErrorKind::TooManyRequests
            | ErrorKind::Timeout
            | ErrorKind::ServerError
            | ErrorKind::Unreachable
    )
}

/// The fields of `metav1.Status` that errors use.
#[derive(Deserialize, Default)]
#[serde(default)]
struct Status {
    reason: String,
    message: String,
    details: Details,
}

#[derive(Deserialize, Default)]
#[serde(default, rename_all = "camelCase")]
struct Details {
    name: String,
    kind: String,
    causes: Vec<StatusCause>,
    retry_after_seconds: u64,
}

#[derive(Deserialize, Default)]
#[serde(default)]
struct StatusCause {
    reason: String,
    message: String,
    field: String,
}

/// The maximum delay that a server can demand. A watch that is silent for longer counts as stuck.
const MAX_RETRY_AFTER: Duration = Duration::from_mins(1);

/// Classifies an answer with an error status.
pub(super) fn classify(
    code: StatusCode,
    body: &[u8],
    after: Option<Duration>,
    target: Target,
) -> Error {
    let parsed = serde_json::from_slice::<Status>(body).ok();
    let is_status = parsed.is_some();
    let status = parsed.unwrap_or_else(|| Status {
        message: excerpt(body),
        ..Status::default()
    });
    let kind = kind_of(code, is_status, &status);
    let told = Duration::from_secs(status.details.retry_after_seconds);
    let after = after.or_else(|| (!told.is_zero()).then_some(told));
    let causes = status.details.causes.into_iter().map(|cause| Cause {
        field: cause.field,
        reason: cause.reason,
        message: cause.message,
    });
    let mut causes: Vec<_> = causes.collect();
    if let Some(field) = undeclared_field(&status.message) {
        causes.push(Cause {
            field: field.to_owned(),
            reason: "FieldValueInvalid".to_owned(),
            message: "field not declared in schema".to_owned(),
        });
    }
    let message = if status.message.is_empty() {
        code.to_string()
    } else {
        status.message
    };
    Error::from(ErrorDetails {
        kind,
        code: Some(code.as_u16()),
        reason: status.reason,
        message,
        retryable: is_transient(kind),
        after: after.map(|delay| delay.min(MAX_RETRY_AFTER)),
        causes,
        repeated: false,
        target,
    })
}

fn kind_of(code: StatusCode, is_status: bool, status: &Status) -> ErrorKind {
    let caused_by = |reason| {
        status
            .details
            .causes
            .iter()
            .any(|cause| cause.reason == reason)
    };
    match (&*status.reason, code.as_u16()) {
        // The path is not served: the answer is plain text for a group, and a Status without a name for a
        // resource.
        ("NotFound", _) if status.details.name.is_empty() && status.details.kind.is_empty() => {
            ErrorKind::KindAbsent
        }
        (_, 404) if !is_status => ErrorKind::KindAbsent,
        ("NotFound", _) | (_, 404) => ErrorKind::NotFound,
        ("AlreadyExists", _) => ErrorKind::AlreadyExists,
        ("Conflict", _) | (_, 409) => ErrorKind::Conflict,
        (_, 403) if caused_by("NamespaceTerminating") => ErrorKind::NamespaceTerminating,
        ("Forbidden", _) | (_, 403) => ErrorKind::Forbidden,
        ("Unauthorized", _) | (_, 401) => ErrorKind::Unauthorized,
        ("Expired" | "Gone", _) | (_, 410) => ErrorKind::Gone,
        ("TooManyRequests", _) | (_, 429) => ErrorKind::TooManyRequests,
        ("Timeout" | "ServerTimeout", _) | (_, 504 | 408) => ErrorKind::Timeout,
        ("MethodNotAllowed", _) | (_, 405) => ErrorKind::MethodNotAllowed,
        // The server refuses an apply that violates the schema with a 500 without a reason.
        (_, 500)
            if status
                .message
                .contains("failed to create typed patch object") =>
        {
            ErrorKind::Invalid
        }
        (_, 500..) => ErrorKind::ServerError,
        _ => ErrorKind::Invalid,
    }
}

/// Returns the field in `….: .spec.x: field not declared in schema`.
fn undeclared_field(message: &str) -> Option<&str> {
    let head = message.split_once(": field not declared in schema")?.0;
    Some(head.rsplit(": ").next().unwrap_or(head))
}

/// Returns the first line of a plain-text answer, such as that of a proxy.
fn excerpt(body: &[u8]) -> String {
    let text = String::from_utf8_lossy(body);
    let line = text.trim().lines().next().unwrap_or_default();
    line.chars().take(200).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn classified(code: u16, body: &str) -> Error {
        let target = Target {
            verb: "get",
            resource: "widgets.example.com".into(),
            namespace: "ns".into(),
            name: "a".into(),
        };
        let code = StatusCode::from_u16(code).unwrap();
        classify(code, body.as_bytes(), None, target)
    }

    #[test]
    fn answers_have_their_class() {
        use ErrorKind as Kind;
        let cases = [
            (
                404,
                r#"{"reason":"NotFound","details":{"name":"a","kind":"widgets"}}"#,
                Kind::NotFound,
            ),
            (
                404,
                r#"{"reason":"NotFound","details":{}}"#,
                Kind::KindAbsent,
            ),
            (404, "404 page not found", Kind::KindAbsent),
            (409, r#"{"reason":"AlreadyExists"}"#, Kind::AlreadyExists),
            (409, r#"{"reason":"Conflict"}"#, Kind::Conflict),
            (
                403,
                r#"{"reason":"Forbidden","details":{"causes":[{"reason":"NamespaceTerminating"}]}}"#,
                Kind::NamespaceTerminating,
            ),
            (403, "no", Kind::Forbidden),
            (401, "", Kind::Unauthorized),
            (410, r#"{"reason":"Expired"}"#, Kind::Gone),
            (429, "", Kind::TooManyRequests),
            (504, "", Kind::Timeout),
            (500, r#"{"reason":"ServerTimeout"}"#, Kind::Timeout),
            (500, r#"{"reason":"InternalError"}"#, Kind::ServerError),
            (503, "<html>", Kind::ServerError),
            (422, r#"{"reason":"Invalid"}"#, Kind::Invalid),
            (400, r#"{"reason":"BadRequest"}"#, Kind::Invalid),
            (405, "", Kind::MethodNotAllowed),
        ];
        for (code, body, kind) in cases {
            assert_eq!(classified(code, body).kind, kind, "{code} {body}");
        }
    }

    #[test]
    fn an_undeclared_field_is_invalid_and_named() {
        let error = classified(
            500,
            r#"{"message":"failed to create typed patch object (ns/a; example.com/v1, Kind=Widget): .spec.sise: field not declared in schema"}"#,
        );
        assert_eq!(error.kind, ErrorKind::Invalid);
        assert!(!error.retryable);
        assert_eq!(error.causes[0].field, ".spec.sise");
    }

    #[test]
    fn a_message_names_verb_resource_namespace_and_name() {
        let error = classified(
            503,
            "upstream away
more",
        );
        assert_eq!(
            error.to_string(),
            "get widgets.example.com ns/a: upstream away"
        );
        assert!(error.retryable);
    }

    #[test]
    fn the_delay_of_the_server_is_used() {
        let error = classified(429, r#"{"details":{"retryAfterSeconds":3}}"#);
        assert_eq!(error.after, Some(Duration::from_secs(3)));
    }
}
