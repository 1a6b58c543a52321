//! Handles creates that store no object: bindings, evictions, tokens, reviews.

use serde_json::Value;

use super::{Exchange, deletion};
use crate::access::review;
use crate::error::ApiError;
use crate::registry::{self, ObjectResponse, ResourceRequest};

/// Responds to a POST of a decoded object to a path that stores nothing.
pub(super) fn create(
    cx: &Exchange<'_>,
    call: &ResourceRequest,
    object: Value,
) -> Result<ObjectResponse, ApiError> {
    match (&**call.resource.id(), &*call.subresource) {
        ("pods", "binding") | ("bindings", "") => {
            cx.registry.write(|tx| registry::bind(tx, call, &object))
        }
        ("pods", "eviction") => {
            let named = object["metadata"]["name"].as_str().unwrap_or_default();
            if !named.is_empty() && named != call.name {
                let why = "name in URL does not match name in Eviction object";
                return Err(ApiError::bad_request(why));
            }
            let (options, dry_run) = deletion::of_body(cx.incoming, &object["deleteOptions"])?;
            let mut call = call.clone();
            call.options.dry_run |= dry_run;
            cx.registry.write(|tx| registry::evict(tx, &call, &options))
        }
        ("serviceaccounts", "token") => {
            let object = registry::owned(call, object, cx.registry.now());
            let issued = cx.registry.write(|tx| registry::issue(tx, call, object));
            let (answer, token, issued) = issued?;
            cx.users.issue(&token, issued, cx.registry.now());
            Ok(answer)
        }
        ("serviceaccounts" | "pods", _) => Err(ApiError::operation_not_implemented()),
        _ => reviewed(cx, call, object),
    }
}

/// Responds to an access review.
fn reviewed(
    cx: &Exchange<'_>,
    call: &ResourceRequest,
    object: Value,
) -> Result<ObjectResponse, ApiError> {
    if !review::is_review(&call.resource.kind) {
        return Err(ApiError::operation_not_implemented());
    }
    let object = registry::owned(call, object, cx.registry.now());
    let now = cx.registry.now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let answer = cx.registry.read(|store, _| {
        let tokens = |token: &str| {
            let is_valid =
                |issued: &registry::IssuedToken| issued.is_valid(store, cx.registry.now());
            cx.users.owner(token, is_valid)
        };
        let context = review::Context {
            user: &call.user,
            namespace: &call.namespace,
            now: &now,
            rules: store,
            tokens: &tokens,
        };
        review::answer(object, &context)
    })?;
    Ok(ObjectResponse::with_code(201, answer))
}
