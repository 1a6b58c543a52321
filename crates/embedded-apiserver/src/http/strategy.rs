//! Strategies: the differences between the HTTP handlers of built-in resources and of custom resources.
//!
//! The real server has a handler for each: that of k8s.io/apiserver, to which the router of Go passes only what a
//! resource serves, and that of k8s.io/apiextensions-apiserver, which parses paths itself. Both reject requests
//! with errors of their own. The strategies of writes are in [`crate::registry`].

use http::Method;

use crate::error::ApiError;
use crate::registry::ResourceRequest;
use crate::resource::Resource;

/// The media types that the server accepts and sends.
pub(super) const MEDIA_TYPES: &str =
    "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// The HTTP rules of a kind of resource.
pub(super) trait Strategy: Sync {
    /// Returns whether a request with this method needs a namespace in its path.
    fn needs_namespace(&self, method: &Method) -> bool;

    /// Returns the error for a path that does not fit the scope of the resource, or nothing for a page that
    /// does not exist.
    fn wrong_scope(&self) -> Option<ApiError>;

    /// Returns the error for a subresource that the resource does not have.
    fn unknown_subresource(&self, call: &ResourceRequest) -> ApiError;

    /// Returns whether the resource can have subresources that require a kubelet.
    fn has_containers(&self) -> bool;

    /// Returns the error for a verb that the resource does not support.
    fn unsupported_verb(&self, call: &ResourceRequest, verb: &str) -> ApiError;

    /// Returns the error for a write to a collection that needs the name of an object.
    fn missing_name(&self) -> ApiError;

    /// Returns whether bodies and objects can be protobuf.
    fn has_protobuf(&self) -> bool;

    /// Returns whether `application/*` in an Accept header selects JSON.
    fn accepts_any_application(&self) -> bool;

    /// Returns the error for an Accept header. `is_known` tells whether it names a media type of the server.
    fn not_acceptable(&self, is_known: bool) -> ApiError;

    /// Returns whether the resource supports strategic merge patches.
    fn has_strategic_merge_patch(&self) -> bool;

    /// Returns the error for a patch of an unknown type.
    fn unknown_patch_type(&self) -> ApiError;

    /// Returns whether a list contains `continue` even if it is empty.
    fn shows_empty_continue(&self) -> bool;

    /// Returns whether each item of a list contains its kind and apiVersion.
    fn items_have_type(&self) -> bool;
}

/// Returns the strategy of a resource.
pub(super) fn strategy_of(resource: &Resource) -> &'static dyn Strategy {
    if resource.is_custom() {
        &CustomResource
    } else {
        &BuiltIn
    }
}

struct BuiltIn;

impl Strategy for BuiltIn {
    fn needs_namespace(&self, _method: &Method) -> bool {
        false
    }

    fn wrong_scope(&self) -> Option<ApiError> {
        Some(ApiError::no_resource())
    }

    fn unknown_subresource(&self, _call: &ResourceRequest) -> ApiError {
        ApiError::no_resource()
    }

    fn has_containers(&self) -> bool {
        true
    }

    fn unsupported_verb(&self, _call: &ResourceRequest, _verb: &str) -> ApiError {
        ApiError::verb_not_allowed()
    }

    fn missing_name(&self) -> ApiError {
        ApiError::verb_not_allowed()
    }

    fn has_protobuf(&self) -> bool {
        true
    }

    fn accepts_any_application(&self) -> bool {
        false
    }

    /// The router of Go rejects a request without a known media type before the API server does.
    fn not_acceptable(&self, is_known: bool) -> ApiError {
        if is_known {
            return accepted_media_types();
        }
        ApiError::not_acceptable(format!(
            "406: Not Acceptable\n\nAvailable representations: {MEDIA_TYPES}"
        ))
    }

    fn has_strategic_merge_patch(&self) -> bool {
        true
    }

    fn unknown_patch_type(&self) -> ApiError {
        ApiError::unsupported_media_type("415: Unsupported Media Type").with_empty_details()
    }

    fn shows_empty_continue(&self) -> bool {
        false
    }

    fn items_have_type(&self) -> bool {
        false
    }
}

struct CustomResource;

impl Strategy for CustomResource {
    fn needs_namespace(&self, method: &Method) -> bool {
        matches!(*method, Method::POST | Method::DELETE)
    }

    fn wrong_scope(&self) -> Option<ApiError> {
        None
    }

    fn unknown_subresource(&self, call: &ResourceRequest) -> ApiError {
        call.not_found(&call.name)
    }

    fn has_containers(&self) -> bool {
        false
    }

    fn unsupported_verb(&self, call: &ResourceRequest, verb: &str) -> ApiError {
        let (group, plural) = (&*call.resource.group, &*call.resource.plural);
        let id = call.resource.id();
        let message = format!("{verb} is not supported on resources of kind \"{id}\"");
        ApiError::method_not_allowed(message).about(group, plural, "")
    }

    fn missing_name(&self) -> ApiError {
        ApiError::bad_request("name must be provided")
    }

    fn has_protobuf(&self) -> bool {
        false
    }

    fn accepts_any_application(&self) -> bool {
        true
    }

    fn not_acceptable(&self, _is_known: bool) -> ApiError {
        accepted_media_types()
    }

    fn has_strategic_merge_patch(&self) -> bool {
        false
    }

    fn unknown_patch_type(&self) -> ApiError {
        unknown_media_type(
            "application/json-patch+json, application/merge-patch+json, application/apply-patch+yaml",
        )
    }

    fn shows_empty_continue(&self) -> bool {
        true
    }

    fn items_have_type(&self) -> bool {
        true
    }
}

fn accepted_media_types() -> ApiError {
    let message = format!("only the following media types are accepted: {MEDIA_TYPES}");
    ApiError::not_acceptable(message)
}

/// Returns the error for a body whose media type is none of the accepted ones.
pub(super) fn unknown_media_type(accepted: &str) -> ApiError {
    ApiError::unsupported_media_type(format!(
        "the body of the request was in an unknown format - accepted media types include: {accepted}"
    ))
}
