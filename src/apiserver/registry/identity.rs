//! Whether an object of a request is what the URL says: its kind, version, namespace and name.

use serde_json::{Map, Value};

use super::call::Call;
use super::metadata;
use crate::apiserver::error::{ApiError, FieldError};

/// Checks kind and version of a decoded body and fills them in for built-ins.
pub(super) fn kind(call: &Call, object: &mut Value) -> Result<(), ApiError> {
    if object.is_null() && !call.resource.is_custom() {
        *object = Value::Object(Map::new());
    }
    shape(object)?;
    let (kind, api_version) = (text(object, "kind"), text(object, "apiVersion"));
    let (want_kind, want_version) = expected(call);
    if call.resource.is_custom() && kind.is_empty() {
        let message = format!("Object 'Kind' is missing in '{object}'");
        return Err(ApiError::bad_request(format!(
            "the object provided is unrecognized (must be of type {want_kind}): {message}"
        )));
    }
    if !api_version.is_empty() && api_version != want_version {
        return Err(ApiError::bad_request(format!(
            "the API version in the data ({api_version}) does not match the expected API version ({want_version})"
        )));
    }
    if !kind.is_empty() && kind != want_kind {
        return Err(wrong_kind(call, object, &want_kind));
    }
    let map = object.as_object_mut().expect("its shape was checked");
    map.insert("kind".to_owned(), want_kind.into());
    map.insert("apiVersion".to_owned(), want_version.into());
    Ok(())
}

/// What the path's objects are: those of `pods/binding` are Bindings.
pub(super) fn expected(call: &Call) -> (String, String) {
    let version = call.served();
    let subresource = version.subresource(&call.subresource);
    let kind = subresource.map_or(&*call.resource.kind, |one| &one.kind);
    let response = match subresource {
        Some(one) => one.response.as_ref(),
        None => version.response.as_ref(),
    };
    let api_version = match response {
        Some(gv) => crate::apiserver::resource::api_version(&gv.group, &gv.version),
        None => call.api_version(),
    };
    (kind.to_owned(), api_version)
}

fn wrong_kind(call: &Call, object: &Value, want: &str) -> ApiError {
    let kind = text(object, "kind");
    if call.resource.is_custom() {
        let error = FieldError::invalid("kind", kind, format!("must be {want}"));
        return ApiError::invalid(&call.resource.group, want, metadata::name(object), &[error]);
    }
    let version = &call.version;
    ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {want}: no kind {kind:?} is registered for the internal version of group {:?} in scheme \"k8s.io/kubernetes/pkg/api/legacyscheme/scheme.go:30\"",
        call.resource.group
    ))
}

/// An object with metadata that is an object too: everything after relies on it.
pub(super) fn shape(object: &mut Value) -> Result<(), ApiError> {
    let Value::Object(map) = object else {
        return Err(ApiError::bad_request(format!(
            "couldn't get version/kind; json parse error: json: cannot unmarshal {} into Go value of type struct {{ APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" }}",
            type_name(object)
        )));
    };
    let metadata = map.entry("metadata").or_insert(Value::Null);
    if metadata.is_null() {
        *metadata = Value::Object(Map::new());
    }
    if !metadata.is_object() {
        return Err(ApiError::bad_request(format!(
            "json: cannot unmarshal {} into Go struct field .metadata of type v1.ObjectMeta",
            type_name(metadata)
        )));
    }
    Ok(())
}

/// The namespace of a body is the URL's.
pub(super) fn namespace(call: &Call, object: &mut Value) -> Result<(), ApiError> {
    let given = metadata::namespace(object);
    if !call.resource.namespaced {
        metadata::of_mut(object).remove("namespace");
        return Ok(());
    }
    if !given.is_empty() && given != call.namespace {
        return Err(ApiError::bad_request(
            "the namespace of the provided object does not match the namespace sent on the request",
        ));
    }
    metadata::of_mut(object).insert("namespace".to_owned(), call.namespace.as_str().into());
    Ok(())
}

/// The name of a replacement is the URL's.
pub(super) fn name(call: &Call, object: &Value) -> Result<(), ApiError> {
    let (given, want) = (metadata::name(object), &call.name);
    if given.is_empty() {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({want} based on URL) was undeterminable: name must be provided"
        )));
    }
    if given != want {
        return Err(ApiError::bad_request(format!(
            "the name of the object ({given}) does not match the name on the URL ({want})"
        )));
    }
    Ok(())
}

fn text<'a>(object: &'a Value, field: &str) -> &'a str {
    object[field].as_str().unwrap_or_default()
}

fn type_name(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "bool",
        Value::Number(_) => "number",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    }
}
