//! Checks that the kind, version, namespace and name of an object match the URL.

use serde_json::{Map, Value};

use super::metadata;
use super::request::ResourceRequest;
use super::shape::type_meta;
use super::strategy::{body_strategy, strategy_of};
use crate::error::{ApiError, FieldError};
use crate::resource::{api_version, split_api_version};
use crate::schema::Schema;
use crate::schema::decode::unrecognized;

/// Returns the kind and apiVersion that the body of a request must have. `pods/binding` expects a Binding.
pub(super) fn expected(call: &ResourceRequest) -> (String, String) {
    let version = call.served();
    let subresource = version.subresource(&call.subresource);
    let kind = subresource.map_or(&*call.resource.kind, |one| &one.kind);
    let response = match subresource {
        Some(one) => one.response.as_ref(),
        None => version.response.as_ref(),
    };
    let api_version = match response {
        Some(gv) => api_version(&gv.group, &gv.version),
        None => call.api_version(),
    };
    (kind.to_owned(), api_version)
}

/// Checks the kind and version of a body. Sets them for built-in resources if they are missing.
pub(super) fn declared(
    call: &ResourceRequest,
    body: &[u8],
    object: &mut Value,
) -> Result<(), ApiError> {
    let (want_kind, want_version) = expected(call);
    if object.is_null() && !body_strategy(call).requires_type() {
        *object = Value::Object(Map::new());
    }
    let refuse = |why: &str| Err(unrecognized(&want_kind, body, why));
    if let Err(why) = type_meta(object) {
        return refuse(&why);
    }
    let kind = text(object, "kind").to_owned();
    let version = text(object, "apiVersion").to_owned();
    if version.matches('/').count() > 1 {
        return refuse(&format!("unexpected GroupVersion string: {version}"));
    }
    if body_strategy(call).requires_type() {
        if kind.is_empty() {
            let body = String::from_utf8_lossy(body);
            return refuse(&format!("Object 'Kind' is missing in '{body}'"));
        }
        custom_version(&version, &want_version)?;
        if kind != want_kind {
            let must = FieldError::invalid("kind", kind.as_str(), format!("must be {want_kind}"));
            return Err(invalid(call, object, must));
        }
    } else {
        builtin_kind((&kind, &version), (&want_kind, &want_version))?;
    }
    relabel(object, want_kind, want_version);
    Ok(())
}

fn custom_version(given: &str, want: &str) -> Result<(), ApiError> {
    if given == want {
        return Ok(());
    }
    Err(ApiError::bad_request(format!(
        "the API version in the data ({given}) does not match the expected API version ({want})"
    )))
}

/// Returns the error of Go's decoder for an object of another kind.
fn builtin_kind(given: (&str, &str), want: (&str, &str)) -> Result<(), ApiError> {
    let or = |given, want| if str::is_empty(given) { want } else { given };
    let (kind, api_version) = (or(given.0, want.0), or(given.1, want.1));
    if (kind, api_version) == want {
        return Ok(());
    }
    let (group, version) = split_api_version(api_version);
    let is_known = |kind| Schema::builtin(group, version, kind).is_some();
    let known = kind == "List" || is_known(kind) || kind.strip_suffix("List").is_some_and(is_known);
    let (want_group, _) = split_api_version(want.1);
    if known && kind == want.0 && group == want_group {
        return custom_version(api_version, want.1);
    }
    let why = if known {
        let internal = match want_group.split('.').next() {
            None | Some("") => "core",
            Some(group) => group,
        };
        format!(
            "converting ({version}.{kind}) to ({internal}.{}): unknown conversion",
            want.0
        )
    } else {
        format!(
            "no kind {kind:?} is registered for version {api_version:?} in scheme \"pkg/runtime/scheme.go:111\""
        )
    };
    Err(ApiError::bad_request(format!(
        "{kind} in version {version:?} cannot be handled as a {}: {why}",
        want.0
    )))
}

/// Checks that a patch did not change the kind or version. `shown` is the object as the error message shows
/// it.
pub(super) fn patched(
    call: &ResourceRequest,
    object: &mut Value,
    shown: String,
) -> Result<(), ApiError> {
    let (want_kind, want_version) = expected(call);
    if strategy_of(&call.resource).requires_type() {
        let (kind, version) = (text(object, "kind"), text(object, "apiVersion"));
        if kind.is_empty() {
            let why = format!("Object 'Kind' is missing in '{shown}'");
            return Err(ApiError::invalid_patch(shown, why));
        }
        if version.is_empty() {
            let why = "Object 'apiVersion' is missing in 'object has no apiVersion field'";
            return Err(ApiError::internal(why));
        }
        let must = |field: &str, given: &str, want: &str| {
            FieldError::invalid(field, given, format!("must be {want}"))
        };
        if kind != want_kind {
            let error = must("kind", kind, &want_kind);
            return Err(invalid(call, object, error));
        }
        if version != want_version {
            let error = must("apiVersion", version, &want_version);
            return Err(invalid(call, object, error));
        }
    }
    let (kind, version) = (text(object, "kind"), text(object, "apiVersion"));
    if let Err(why) = builtin_kind((kind, version), (&want_kind, &want_version))
        && !body_strategy(call).requires_type()
    {
        return Err(ApiError::invalid_patch(shown, why.message));
    }
    relabel(object, want_kind, want_version);
    Ok(())
}

fn invalid(call: &ResourceRequest, object: &Value, error: FieldError) -> ApiError {
    let (group, kind) = (&*call.resource.group, text(object, "kind"));
    ApiError::invalid(group, kind, metadata::name(object), &[error])
}

fn relabel(object: &mut Value, kind: String, api_version: String) {
    if let Some(map) = object.as_object_mut() {
        map.insert("kind".to_owned(), kind.into());
        map.insert("apiVersion".to_owned(), api_version.into());
    }
}

/// Checks that the namespace of a body is that of the URL, and sets it if it is missing.
pub(super) fn namespace(call: &ResourceRequest, object: &mut Value) -> Result<(), ApiError> {
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

/// Checks that the name of a replacement is that of the URL.
pub(super) fn name(call: &ResourceRequest, object: &Value) -> Result<(), ApiError> {
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
