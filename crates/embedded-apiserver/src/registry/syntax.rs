//! Parses bodies: JSON, YAML, protobuf.

use serde_json::{Map, Value};

use super::identity;
use super::request::{FieldValidation, Media, PatchType, ResourceRequest};
use crate::error::ApiError;
use crate::go;
use crate::protobuf;
use crate::schema::decode::{self, DecodedBody};

/// Returns the value of the body of a create or an update, and its duplicate fields.
pub(super) fn parse(
    call: &ResourceRequest,
    media: Media,
    bytes: &[u8],
) -> Result<DecodedBody, ApiError> {
    let read = match media {
        Media::Json => decode::json(bytes),
        Media::Yaml => decode::yaml(bytes),
        Media::Protobuf => {
            let (kind, _) = identity::expected(call);
            let value = protobuf::decode(bytes).map_err(|why| match why.code {
                400 => decode::unrecognized(&kind, bytes, &why.message),
                _ => why,
            })?;
            decode::check_depth(&value).map_err(ApiError::bad_request)?;
            return Ok(DecodedBody {
                value,
                ..DecodedBody::default()
            });
        }
    };
    let (kind, _) = identity::expected(call);
    read.map_err(|why| {
        let why = format!("couldn't get version/kind; json parse error: {why}");
        decode::unrecognized(&kind, bytes, &why)
    })
}

/// Returns the document of a patch, and its duplicate fields.
pub(super) fn patch(
    call: &ResourceRequest,
    kind: PatchType,
    bytes: &[u8],
) -> Result<DecodedBody, ApiError> {
    if kind != PatchType::Apply {
        return decode::json(bytes)
            .map_err(|why| ApiError::bad_request(format!("error decoding patch: {why}")));
    }
    let converting = "error converting YAML to JSON";
    let decoded = decode::yaml(bytes).map_err(|why| {
        ApiError::bad_request(format!("error decoding YAML: {converting}: {why}"))
    })?;
    match decoded.duplicates.first() {
        Some(text) if call.options.validation == FieldValidation::Strict => Err(
            ApiError::bad_request(format!("error strict decoding YAML: {converting}: {text}")),
        ),
        _ => Ok(decoded),
    }
}

/// Returns the configuration of an apply: an object, or an empty object for null.
pub(super) fn configuration(value: Value) -> Result<Value, ApiError> {
    match value {
        Value::Null => Ok(Value::Object(Map::new())),
        Value::Object(_) => Ok(value),
        other => Err(ApiError::bad_request(format!(
            "error decoding YAML: error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {} into Go value of type map[string]interface {{}}",
            go::json_kind(&other)
        ))),
    }
}
