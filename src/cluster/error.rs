//! What can go wrong with a request, classified: what it means, whether to try again, and when.

use std::fmt;
use std::ops::Deref;
use std::time::Duration;

/// The class of a failure; scripts catch it as `kind` in `snake_case`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ErrorKind {
    /// The object is not there.
    NotFound,
    /// The cluster does not serve this kind.
    KindAbsent,
    /// Somebody else wrote in between, or owns a field of an apply.
    Conflict,
    /// A create of what is there already.
    AlreadyExists,
    /// The cluster's RBAC, an admission check or the role's fence refuses it.
    Forbidden,
    /// The credentials are not accepted.
    Unauthorized,
    /// The object is not valid, or the request makes no sense.
    Invalid,
    /// The verb is not served for this kind.
    MethodNotAllowed,
    /// The server asks to slow down.
    TooManyRequests,
    /// No answer within the deadline.
    Timeout,
    /// The server failed, or is not ready yet.
    ServerError,
    /// No connection, or it was cut.
    Unreachable,
    /// The resource version asked for is too old.
    Gone,
    /// The namespace is being deleted and takes nothing new.
    NamespaceTerminating,
    /// Writes are not allowed any more: the process no longer leads, or is stopping.
    Cancelled,
    /// The answer is not what Kubernetes would say.
    Malformed,
}

impl ErrorKind {
    /// The word that scripts, logs and metrics use: a closed set.
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

/// A failed request; its parts are reached by deref.
#[derive(Clone, Debug)]
pub struct Error(Box<Parts>);

/// What an [`Error`] derefs to.
#[derive(Clone, Debug)]
pub struct Parts {
    /// Its class.
    pub kind: ErrorKind,
    /// The HTTP status, `None` where there was no answer.
    pub code: Option<u16>,
    /// The server's reason (`NotFound`, `Conflict`, …), or one of ours.
    pub reason: String,
    /// The server's words, or ours.
    pub message: String,
    /// Whether the same request may succeed later.
    pub retryable: bool,
    /// Not before this time, where the server said so.
    pub after: Option<Duration>,
    /// The fields at fault, as the server names them.
    pub causes: Vec<Cause>,
    /// What was asked for.
    pub target: Target,
}

/// A field at fault.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cause {
    /// Path of the field.
    pub field: String,
    /// The server's reason.
    pub reason: String,
    /// The server's words.
    pub message: String,
}

/// What a request is about, for messages.
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
    type Target = Parts;

    fn deref(&self) -> &Parts {
        &self.0
    }
}

impl From<Parts> for Error {
    fn from(parts: Parts) -> Self {
        Self(Box::new(parts))
    }
}

/// `get deployments.apps ns/name`
impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.verb, self.resource)?;
        match (self.namespace.is_empty(), self.name.is_empty()) {
            (true, true) => Ok(()),
            (true, false) => write!(f, " {}", self.name),
            (false, true) => write!(f, " in {}", self.namespace),
            (false, false) => write!(f, " {}/{}", self.namespace, self.name),
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
