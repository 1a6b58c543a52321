//! What is created and not stored: bindings, evictions, tokens, reviews.

use serde_json::Value;

use super::handle::not_implemented;
use super::{Exchange, deletion};
use crate::apiserver::error::ApiError;
use crate::apiserver::registry::{self, Answer, Call};

/// Answers a POST of a decoded object to a path that stores nothing.
pub(super) fn create(cx: &Exchange<'_>, call: &Call, object: Value) -> Result<Answer, ApiError> {
    match (&**call.resource.id(), &*call.subresource) {
        ("pods", "binding") | ("bindings", "") => {
            cx.registry.write(|tx| registry::bind(tx, call, &object))
        }
        ("pods", "eviction") => {
            let (options, dry_run) = deletion::of_body(cx.incoming, &object["deleteOptions"])?;
            let mut call = call.clone();
            call.options.dry_run |= dry_run;
            cx.registry.write(|tx| registry::evict(tx, &call, &options))
        }
        ("serviceaccounts", "token") => {
            let issued = cx.registry.write(|tx| registry::issue(tx, call, object));
            let (answer, token, user) = issued?;
            cx.users.insert(&token, user);
            Ok(answer)
        }
        _ => Err(not_implemented()),
    }
}
