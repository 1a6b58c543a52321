//! Errors of lower layers, as scripts catch them.

use rhai::{EvalAltResult, Map};

use crate::cluster::ErrorKind;
use crate::script::HostError;
use crate::{apply, cluster};

/// Returns the message of an error.
pub(super) fn short_message(error: &EvalAltResult) -> String {
    if let EvalAltResult::ErrorRuntime(value, _) = error
        && let Some(map) = value.read_lock::<Map>()
        && let Some(message) = map.get("message")
    {
        return message.to_string();
    }
    error.to_string()
}

impl From<cluster::Error> for HostError {
    fn from(error: cluster::Error) -> Self {
        Self {
            kind: error.kind.as_str().into(),
            code: error.code,
            reason: error.reason.clone(),
            message: error.to_string(),
            retryable: error.retryable,
            after: error.after,
        }
    }
}

impl From<apply::Error> for HostError {
    fn from(error: apply::Error) -> Self {
        let message = error.to_string();
        match error {
            apply::Error::InvalidObject(_) | apply::Error::ListFull { .. } => {
                Self::new("invalid", message)
            }
            apply::Error::Unreadable { .. } => Self::new(ErrorKind::Malformed.as_str(), message),
            // The owner of the object can delete it, so that a retry succeeds.
            apply::Error::NotOwned { .. } => Self {
                retryable: true,
                ..Self::new("not_owned", message)
            },
            apply::Error::KindAbsent { .. } => Self {
                retryable: true,
                ..Self::new("kind_absent", message)
            },
            // These end the run before a script could catch them.
            apply::Error::Recreating { .. }
            | apply::Error::Former { .. }
            | apply::Error::OwnerGone { .. } => Self {
                retryable: true,
                ..Self::new("conflict", message)
            },
            apply::Error::Immutable { error }
            | apply::Error::OwnerFinalizers { error, .. }
            | apply::Error::Cluster(error) => Self {
                message,
                ..error.into()
            },
        }
    }
}

/// The result of a host function. A script can catch the error.
pub(crate) type HostResult<T> = Result<T, Box<EvalAltResult>>;

/// An error of kind `invalid`: the script gave a value that the function cannot work with.
pub(crate) fn invalid(message: impl Into<String>) -> Box<EvalAltResult> {
    HostError::new("invalid", message).into()
}
