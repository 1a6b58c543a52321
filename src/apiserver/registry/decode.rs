//! From the bytes of a request to an object: syntax, identity, unknown fields.

use serde_json::Value;

use super::call::{Call, FieldValidation};
use super::patch::PatchType;
use super::{identity, metadata, rules, syntax};
use crate::apiserver::error::{ApiError, FieldError};
use crate::apiserver::patch;

/// How a body is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Media {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// A decoded object and what is to be warned of.
#[derive(Debug)]
pub struct Decoded {
    /// The object, of the call's kind.
    pub object: Value,
    /// Texts for `Warning` headers.
    pub warnings: Vec<String>,
}

/// Decodes the body of a create or an update.
pub fn decode(call: &Call, media: Media, bytes: &[u8]) -> Result<Decoded, ApiError> {
    let parsed = syntax::parse(call, media, bytes)?;
    let mut object = parsed.value;
    identity::kind(call, &mut object)?;
    let mut complaints = parsed.duplicates;
    complaints.extend(rules::decode(call, &mut object)?);
    let warnings = judged(call, complaints, |list| {
        let (kind, version) = (&object["kind"], &call.version);
        let kind = kind.as_str().unwrap_or_default();
        ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {list}"
        ))
    })?;
    Ok(Decoded { object, warnings })
}

/// Decodes what a patch has made of an object; gives the warnings.
pub(super) fn patched(
    call: &Call,
    kind: PatchType,
    object: &mut Value,
    document: &Value,
    duplicates: Vec<String>,
) -> Result<Vec<String>, ApiError> {
    let mut complaints = duplicates;
    if kind == PatchType::Json {
        complaints.extend(patch::unknown_fields(document));
    }
    let unknown = rules::decode(call, object)?;
    // What an apply may say is its schema's to tell.
    if kind != PatchType::Apply {
        complaints.extend(unknown);
    }
    judged(call, complaints, |list| {
        let (group, kind) = (&*call.resource.group, &*call.resource.kind);
        let detail = format!("strict decoding error: {list}");
        let error = FieldError::invalid("patch", document.to_string(), detail);
        ApiError::invalid(group, kind, metadata::name(object), &[error])
    })
}

/// What becomes of unknown and duplicate fields by the request's `fieldValidation`.
fn judged(
    call: &Call,
    complaints: Vec<String>,
    refusal: impl FnOnce(&str) -> ApiError,
) -> Result<Vec<String>, ApiError> {
    match call.options.validation {
        _ if complaints.is_empty() => Ok(complaints),
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(complaints),
        FieldValidation::Strict => Err(refusal(&complaints.join(", "))),
    }
}
