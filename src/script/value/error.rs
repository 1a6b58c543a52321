//! The error of a value that JSON cannot represent.

/// A value that JSON cannot represent, with its path.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Error {
    /// The path within the value, e.g. `spec.ports[0]`; `value` for the whole.
    pub path: String,
    /// The cause, e.g. `a function cannot be written as JSON`.
    pub problem: String,
}
