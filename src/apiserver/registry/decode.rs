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
    identity::declared(call, bytes, &mut object)?;
    let mut complaints = parsed.duplicates;
    complaints.extend(rules::decode(call, &mut object)?);
    let mut warnings = judged(call, complaints, |list| {
        let (kind, version) = (&object["kind"], &call.version);
        let kind = kind.as_str().unwrap_or_default();
        ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {list}"
        ))
    })?;
    warnings.extend(metadata::dedup_owners(&mut object));
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
    let text = object.to_string();
    let unknown = rules::decode(call, object).map_err(|why| undecodable(call, kind, text, &why))?;
    // What an apply may say is its schema's to tell.
    if kind != PatchType::Apply {
        complaints.extend(unknown);
    }
    let owners = metadata::dedup_owners(object);
    let mut warnings = judged(call, complaints, |list| {
        let (group, kind) = (&*call.resource.group, &*call.resource.kind);
        let detail = format!("strict decoding error: {list}");
        let error = FieldError::invalid("patch", document.to_string(), detail);
        ApiError::invalid(group, kind, metadata::name(object), &[error])
    })?;
    warnings.extend(owners);
    Ok(warnings)
}

/// What a patch has made is no object of the kind.
fn undecodable(call: &Call, kind: PatchType, object: String, why: &ApiError) -> ApiError {
    let said = why
        .message
        .split_once(": ")
        .map_or(&*why.message, |(_, said)| said);
    if kind == PatchType::Apply {
        let (kind, api_version) = identity::expected(call);
        let (group, version) = crate::apiserver::resource::split_api_version(&api_version);
        let gvk = format!("{group}/{version}, Kind={kind}");
        let name = &call.name;
        return ApiError::new(
            500,
            None,
            format!(
                "failed to convert new object (/{name}; {gvk}) to proper version: unable to convert unstructured object to {gvk}: error decoding from json: {said}"
            ),
        );
    }
    let error = FieldError::invalid("patch", object, said);
    let (group, kind) = (&*call.resource.group, &*call.resource.kind);
    ApiError::invalid(group, kind, &call.name, &[error])
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
