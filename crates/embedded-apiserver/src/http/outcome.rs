//! The checks and responses that all verbs share.

use http::Response;

use super::Exchange;
use super::negotiate::Form;
use super::representation::Representation;
use super::respond::{self, Body};
use super::strategy::strategy_of;
use crate::error::ApiError;
use crate::registry::{ObjectResponse, ResourceRequest};

/// A response and the texts of its warnings.
pub(super) type ResponseWithWarnings = (Response<Body>, Vec<String>);

/// Checks that the resource, or the subresource of the request, supports a verb.
pub(super) fn require(call: &ResourceRequest, verb: &str) -> Result<(), ApiError> {
    let version = call.served();
    let verbs = match version.subresource(&call.subresource) {
        Some(subresource) => &subresource.verbs,
        None => &version.verbs,
    };
    if verbs.iter().any(|one| one == verb) {
        Ok(())
    } else {
        Err(strategy_of(&call.resource).unsupported_verb(call, verb))
    }
}

/// Returns the response with an object.
pub(super) fn respond(
    cx: &Exchange<'_>,
    call: &ResourceRequest,
    form: Form,
    answer: ObjectResponse,
) -> ResponseWithWarnings {
    let show = Representation::new(form, call, cx.registry.now());
    let response = respond::object(answer.code, form, &show.object(&answer.object));
    (response, answer.warnings)
}
