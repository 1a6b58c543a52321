//! The rules of one kind: defaults, validation, field ownership.
//!
//! The narrow door to the modules that know them.

use serde_json::Value;

use super::call::Call;
use super::decode::Media;
use super::identity;
use super::metadata;
use super::patch::PatchType;
use crate::apiserver::error::{ApiError, FieldError};
use crate::apiserver::resource::Resource;

/// Between the versions of a kind.
pub(super) fn convert(_resource: &Resource, _version: &str, _group: &str, _object: &mut Value) {}

/// What decoding an object of this version does to it: unknown fields go, defaults come. Returns the
/// paths of unknown fields.
pub(super) fn decode(_call: &Call, object: &mut Value) -> Result<Vec<String>, ApiError> {
    identity::shape(object)?;
    Ok(Vec::new())
}

/// What a create does to an object before it is checked.
pub(super) fn prepare_for_create(call: &Call, object: &mut Value) {
    if call.resource.strategy.status
        && let Some(map) = object.as_object_mut()
    {
        map.remove("status");
    }
}

/// What an update does to an object before it is checked.
pub(super) fn prepare_for_update(_call: &Call, _object: &mut Value, _live: &Value) {}

/// Everything that is wrong with an object.
pub(super) fn validate(_call: &Call, object: &Value, _live: Option<&Value>) -> Vec<FieldError> {
    if metadata::name(object).is_empty() {
        let detail = "name or generateName is required";
        return vec![FieldError::required("metadata.name", detail)];
    }
    Vec::new()
}

/// Moves the ownership of fields to whoever has written them.
pub(super) fn track(_call: &Call, _live: Option<&Value>, new: Value, _now: &str) -> Value {
    new
}

/// The live object with a patch applied.
pub(super) fn patched(
    _call: &Call,
    kind: PatchType,
    live: &Value,
    patch: &Value,
) -> Result<Value, ApiError> {
    match kind {
        PatchType::Merge => {
            let mut object = live.clone();
            json_patch::merge(&mut object, patch);
            Ok(object)
        }
        _ => Err(ApiError::new(
            501,
            Some("NotImplemented"),
            "the server does not implement this type of patch",
        )),
    }
}

/// The value that a body says, and what it says twice.
pub(super) fn parse(media: Media, bytes: &[u8]) -> Result<(Value, Vec<String>), ApiError> {
    let value = match media {
        Media::Json => serde_json::from_slice(bytes).map_err(|why| why.to_string()),
        Media::Yaml => serde_yaml::from_slice(bytes).map_err(|why| why.to_string()),
        Media::Protobuf => return Ok((protobuf(bytes)?, Vec::new())),
    };
    let value = value.map_err(ApiError::bad_request)?;
    Ok((value, Vec::new()))
}

/// What is wrong with the fields of a body, as the real server words it.
pub(super) fn complaints(media: Media, duplicates: &[String], unknown: &[String]) -> Vec<String> {
    let duplicate = |path: &String| match media {
        Media::Yaml => format!("key {path:?} already set in map"),
        _ => format!("duplicate field {path:?}"),
    };
    let unknown = unknown.iter().map(|path| format!("unknown field {path:?}"));
    duplicates.iter().map(duplicate).chain(unknown).collect()
}

/// The object of a protobuf body.
pub fn protobuf(_bytes: &[u8]) -> Result<Value, ApiError> {
    let message = "the body of the request was in an unknown format - accepted media types include: application/json, application/yaml";
    Err(ApiError::new(415, Some("UnsupportedMediaType"), message))
}

/// The document of a patch.
pub(super) fn parse_patch(kind: PatchType, body: &[u8]) -> Result<Value, ApiError> {
    let media = match kind {
        PatchType::Apply => Media::Yaml,
        _ => Media::Json,
    };
    parse(media, body).map(|(patch, _)| patch)
}
