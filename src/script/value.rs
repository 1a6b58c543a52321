//! Script values to JSON and back.

use rhai::Dynamic;
use serde_json::Value;

/// What JSON cannot hold, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{path}: {problem}")]
pub struct Error {
    /// The path within the value, e.g. `spec.ports[0]`; `value` for the whole.
    pub path: String,
    /// What is there, e.g. `a function cannot be written as JSON`.
    pub problem: String,
}

/// JSON value → script value.
pub fn to_dynamic(value: &Value) -> Dynamic {
    rhai::serde::to_dynamic(value).unwrap_or_default()
}

/// JSON text → script value.
pub fn from_json(text: &[u8]) -> Result<Dynamic, serde_json::Error> {
    serde_json::from_slice(text)
}

/// Script value → JSON value.
pub fn to_value(value: &Dynamic) -> Result<Value, Error> {
    rhai::serde::from_dynamic(value).map_err(|error| Error {
        path: "value".to_owned(),
        problem: error.to_string(),
    })
}

/// Script value → JSON text with sorted keys: equal values give equal bytes.
pub fn write_json(value: &Dynamic, out: &mut Vec<u8>) -> Result<(), Error> {
    out.extend_from_slice(to_value(value)?.to_string().as_bytes());
    Ok(())
}
