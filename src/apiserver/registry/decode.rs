//! From the bytes of a request to an object: syntax, identity, unknown fields.

use serde_json::Value;

use super::call::{Call, FieldValidation};
use super::{identity, metadata, rules};
use crate::apiserver::error::ApiError;

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
    let (mut object, duplicates) = rules::parse(media, bytes)?;
    identity::kind(call, &mut object)?;
    let unknown = rules::decode(call, &mut object)?;
    let complaints = rules::complaints(media, &duplicates, &unknown);
    let warnings = judged(call, complaints, |list| {
        let (kind, version) = (&object["kind"], &call.version);
        let kind = kind.as_str().unwrap_or_default();
        ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {list}"
        ))
    })?;
    Ok(Decoded { object, warnings })
}

/// Decodes what a patch has made of an object.
pub(super) fn patched(
    call: &Call,
    object: &mut Value,
    patch: &Value,
) -> Result<Vec<String>, ApiError> {
    let unknown = rules::decode(call, object)?;
    let complaints = rules::complaints(Media::Json, &[], &unknown);
    judged(call, complaints, |list| {
        let (group, kind) = (&*call.resource.group, &*call.resource.kind);
        let detail = format!("strict decoding error: {list}");
        let error =
            crate::apiserver::error::FieldError::invalid("patch", patch.to_string(), detail);
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
