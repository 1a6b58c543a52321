//! Decodes the body of a request to an object: syntax, identity, unknown fields.

use serde_json::Value;

use super::request::{FieldValidation, Media, PatchType, ResourceRequest};
use super::strategy::{body_strategy, schema};
use super::{identity, metadata, syntax};
use crate::error::ApiError;
use crate::go;
use crate::patch;
use crate::schema::unstructured;

/// A decoded object and its warnings.
#[derive(Debug)]
pub(crate) struct DecodedObject {
    /// The object, of the kind that the request expects.
    pub object: Value,
    /// The texts of `Warning` headers.
    pub warnings: Vec<String>,
}

/// Decodes the body of a create or an update.
pub(crate) fn decode(
    call: &ResourceRequest,
    media: Media,
    bytes: &[u8],
) -> Result<DecodedObject, ApiError> {
    let parsed = syntax::parse(call, media, bytes)?;
    let mut object = parsed.value;
    identity::declared(call, bytes, &mut object)?;
    let mut complaints = parsed.duplicates;
    complaints.extend(body_strategy(call).decode(call, &mut object)?);
    let mut warnings = apply_field_validation(call, complaints, |list| {
        let (kind, version) = (&object["kind"], &call.version);
        let kind = kind.as_str().unwrap_or_default();
        ApiError::bad_request(format!(
            "{kind} in version {version:?} cannot be handled as a {kind}: strict decoding error: {list}"
        ))
    })?;
    warnings.extend(metadata::dedup_owners(&mut object));
    Ok(DecodedObject { object, warnings })
}

/// Decodes the result of a patch. Returns the warnings.
pub(super) fn patched(
    call: &ResourceRequest,
    kind: PatchType,
    object: &mut Value,
    document: &Value,
    duplicates: Vec<String>,
) -> Result<Vec<String>, ApiError> {
    let mut complaints = duplicates;
    if kind == PatchType::Json {
        complaints.extend(patch::unknown_fields(document));
    }
    let text = document_of(call, kind, document, object);
    let unknown = if kind == PatchType::Apply {
        body_strategy(call).decode_applied(call, object)
    } else {
        body_strategy(call).decode(call, object)
    };
    let unknown = unknown.map_err(|why| match kind {
        PatchType::Strategic => unrestorable(call, object, document, &why),
        _ => undecodable(call, kind, text.clone(), &why),
    })?;
    // The schema checks the fields of an apply.
    if kind != PatchType::Apply {
        complaints.extend(unknown);
    }
    let owners = metadata::dedup_owners(object);
    let mut warnings = apply_field_validation(call, complaints, |list| {
        let shown = match kind {
            PatchType::Strategic => go::plain(document),
            _ => text,
        };
        ApiError::invalid_patch(shown, format!("strict decoding error: {list}"))
    })?;
    warnings.extend(owners);
    Ok(warnings)
}

/// Returns the error for a result of a patch that is not an object of the kind.
fn undecodable(
    call: &ResourceRequest,
    kind: PatchType,
    object: String,
    why: &ApiError,
) -> ApiError {
    let said = why
        .message
        .split_once(": ")
        .map_or(&*why.message, |(_, said)| said);
    if kind == PatchType::Apply {
        let (kind, api_version) = identity::expected(call);
        let (group, version) = crate::resource::split_api_version(&api_version);
        let gvk = format!("{group}/{version}, Kind={kind}");
        let name = &call.name;
        // Types with their own JSON decoder return the complete message.
        let reader = match said {
            said if said.starts_with("parsing ") || said.starts_with("quantities ") => "",
            _ => "error decoding from json: ",
        };
        return ApiError::unclassified(format!(
            "failed to convert new object (/{name}; {gvk}) to proper version: unable to convert unstructured object to {gvk}: {reader}{said}"
        ));
    }
    ApiError::invalid_patch(object, said)
}

/// Returns the result of a patch as the real server shows it: metadata that the patch did not change in the
/// order of Go's struct, and the rest in the order of maps.
pub(super) fn document_of(
    call: &ResourceRequest,
    kind: PatchType,
    document: &Value,
    object: &Value,
) -> String {
    let touched = match kind {
        PatchType::Json => document.as_array().is_some_and(|steps| {
            let mut paths = steps.iter().filter_map(|step| step["path"].as_str());
            paths.any(|path| path.starts_with("/metadata"))
        }),
        _ => document.get("metadata").is_some(),
    };
    if body_strategy(call).requires_type() || touched {
        go::json(object)
    } else {
        go::object(object)
    }
}

/// Returns the error for a result of a strategic merge patch that is not an object of the kind. It shows
/// the patch.
fn unrestorable(call: &ResourceRequest, object: &Value, patch: &Value, why: &ApiError) -> ApiError {
    let schema = schema(call);
    let said = unstructured::error(&schema, object).unwrap_or_else(|| why.message.clone());
    ApiError::invalid_patch(go::plain(patch), said)
}

/// Splits a complaint into the lines of `Warning` headers. Each error of the YAML parser becomes one header.
fn lines(complaint: &str) -> Vec<String> {
    match complaint.split_once('\n') {
        None => vec![complaint.to_owned()],
        Some((_, rest)) => rest.lines().map(|line| line.trim().to_owned()).collect(),
    }
}

/// Handles unknown and duplicate fields as the `fieldValidation` of the request requires.
fn apply_field_validation(
    call: &ResourceRequest,
    complaints: Vec<String>,
    refusal: impl FnOnce(&str) -> ApiError,
) -> Result<Vec<String>, ApiError> {
    match call.options.validation {
        _ if complaints.is_empty() => Ok(complaints),
        FieldValidation::Ignore => Ok(Vec::new()),
        FieldValidation::Warn => Ok(complaints.iter().flat_map(|one| lines(one)).collect()),
        FieldValidation::Strict => Err(refusal(&complaints.join(", "))),
    }
}

/// Applies a patch to an object.
pub(super) fn apply_patch(
    call: &ResourceRequest,
    kind: PatchType,
    live: &Value,
    document: &Value,
) -> Result<Value, ApiError> {
    match kind {
        PatchType::Json => patch::json(live, document),
        PatchType::Strategic => patch::strategic(&schema(call), live, document),
        // For an apply, `ownership` merges by field owners.
        PatchType::Merge | PatchType::Apply => patch::merge(live, document),
    }
}
