//! Builds HTTP responses.

use std::convert::Infallible;

use bytes::Bytes;
use http::header::{CACHE_CONTROL, CONTENT_TYPE, HeaderValue, WARNING, X_CONTENT_TYPE_OPTIONS};
use http::{HeaderName, Response, StatusCode};
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;

use super::negotiate::Form;
use crate::error::ApiError;
use crate::protobuf;
use crate::registry::Media;

/// The body of every response. Reading it cannot fail.
pub type Body = UnsyncBoxBody<Bytes, Infallible>;

/// The header with the id of the request in the audit log.
pub(super) const AUDIT_ID: HeaderName = HeaderName::from_static("audit-id");

/// Returns a response with a body of a media type.
pub(super) fn response(code: u16, content_type: &str, body: impl Into<Bytes>) -> Response<Body> {
    let mut response = Response::new(Full::new(body.into()).boxed_unsync());
    *response.status_mut() =
        StatusCode::from_u16(code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    if let Ok(value) = HeaderValue::from_str(content_type) {
        response.headers_mut().insert(CONTENT_TYPE, value);
    }
    response
}

/// Returns a response with a text such as `ok` or `404 page not found`.
pub(super) fn text(code: u16, text: impl Into<String>) -> Response<Body> {
    let mut response = plain(code, text);
    let nosniff = HeaderValue::from_static("nosniff");
    response
        .headers_mut()
        .insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// Returns a response with a text, without the `nosniff` header.
pub(super) fn plain(code: u16, text: impl Into<String>) -> Response<Body> {
    response(code, "text/plain; charset=utf-8", text.into())
}

/// Returns a response with a JSON document, without content negotiation, as discovery and health require.
pub(super) fn json(code: u16, value: &Value) -> Response<Body> {
    response(code, "application/json", value.to_string())
}

/// Returns a response with an object in the negotiated form.
pub(super) fn object(code: u16, form: Form, value: &Value) -> Response<Body> {
    match written(form, value) {
        Some(body) => response(code, form.content_type(), body),
        None => error(&without_protobuf(value), None),
    }
}

/// Returns the 406 for an object that has no protobuf.
pub(super) fn without_protobuf(value: &Value) -> ApiError {
    let kind = value["kind"].as_str().unwrap_or_default();
    ApiError::not_acceptable(format!(
        "object *v1.{kind} does not implement the protobuf marshalling interface and cannot be \
         encoded to a protobuf message"
    ))
}

/// Returns a response with a 403 and the `nosniff` header.
pub(super) fn forbidden(why: &ApiError) -> Response<Body> {
    let mut response = error(why, None);
    let nosniff = HeaderValue::from_static("nosniff");
    let headers = response.headers_mut();
    headers.insert(X_CONTENT_TYPE_OPTIONS, nosniff);
    response
}

/// Returns a response with an error.
pub(super) fn error(error: &ApiError, form: Option<Form>) -> Response<Body> {
    let form = form.unwrap_or_default();
    let mut response = object(error.code, form, &error.status());
    let retry = error
        .details
        .as_ref()
        .and_then(|d| d.get("retryAfterSeconds"));
    if let Some(seconds) = retry.and_then(Value::as_i64) {
        let headers = response.headers_mut();
        headers.insert(http::header::RETRY_AFTER, seconds.into());
    }
    response
}

/// Adds the headers that every response has.
pub(super) fn finish(response: &mut Response<Body>, warnings: &[String]) {
    let headers = response.headers_mut();
    if !headers.contains_key(CACHE_CONTROL) {
        let value = HeaderValue::from_static("no-cache, private");
        headers.insert(CACHE_CONTROL, value);
    }
    let id = format!("{:032x}", rand::random::<u128>());
    if let Ok(id) = HeaderValue::from_str(&id) {
        headers.insert(AUDIT_ID, id);
    }
    for text in warnings {
        // RFC 7234, section 5.5: 299 is a persistent warning, and `-` is an unspecified agent.
        let escaped = text.replace('\\', "\\\\").replace('"', "\\\"");
        if let Ok(value) = HeaderValue::from_str(&format!("299 - \"{escaped}\"")) {
            headers.append(WARNING, value);
        }
    }
}

/// Returns the body; none if the form is protobuf, and the object has none.
fn written(form: Form, value: &Value) -> Option<Vec<u8>> {
    match form.media {
        Media::Protobuf => return protobuf::encode(value),
        Media::Yaml => {
            let text = serde_yaml::to_string(value).unwrap_or_default();
            return Some(text.into_bytes());
        }
        Media::Json => {}
    }
    let written = if form.pretty {
        serde_json::to_vec_pretty(value)
    } else {
        serde_json::to_vec(value)
    };
    let mut written = written.unwrap_or_default();
    written.push(b'\n');
    Some(written)
}

/// Returns a document with an `ETag`, or a 304 if the client already has it.
pub(super) fn tagged(
    headers: &http::HeaderMap,
    content_type: &str,
    value: &Value,
) -> Response<Body> {
    use http::header::{ETAG, IF_NONE_MATCH, VARY};
    let text = value.to_string();
    let tag = format!(
        "\"{:032X}\"",
        twox_hash::XxHash3_128::oneshot(text.as_bytes())
    );
    let known = headers.get(IF_NONE_MATCH).and_then(|tag| tag.to_str().ok());
    let mut response = if known == Some(&*tag) {
        response(304, content_type, Bytes::new())
    } else {
        response(200, content_type, text)
    };
    let headers = response.headers_mut();
    if let Ok(tag) = HeaderValue::from_str(&tag) {
        headers.insert(ETAG, tag);
    }
    headers.insert(VARY, HeaderValue::from_static("Accept"));
    headers.insert(CACHE_CONTROL, HeaderValue::from_static("public"));
    response
}
