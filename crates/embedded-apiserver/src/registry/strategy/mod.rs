//! Strategies: the rules of one kind of resource in the write pipeline.
//!
//! Each stage of `create` and `update` calls the strategy of the resource, as the registry of
//! k8s.io/apiserver does:
//! <https://pkg.go.dev/k8s.io/apiserver/pkg/registry/rest#RESTCreateStrategy>. Rules that are data, such as
//! the count of generations, are in [`Resource::strategy`].

mod builtin;
mod custom;
mod definition;

use serde_json::Value;

use super::request::ResourceRequest;
use crate::apply::reset;
use crate::crd::ValidationResult;
use crate::error::ApiError;
use crate::resource::{CompiledVersion, Resource, Version};
use crate::schema::Schema;

/// The id of the resource of custom resource definitions.
pub(super) const DEFINITIONS: &str = "customresourcedefinitions.apiextensions.k8s.io";

/// The rules of a kind of resource. The stages of a write call the methods in this order.
pub(super) trait Strategy: Sync {
    /// Returns whether a body must contain its kind and apiVersion. If not, the URL supplies them.
    fn requires_type(&self) -> bool;

    /// Removes unknown fields from a body, and sets defaults. Returns the errors of strict decoding.
    fn decode(&self, call: &ResourceRequest, object: &mut Value) -> Result<Vec<String>, ApiError>;

    /// Decodes the result of an apply, whose fields the schema has checked.
    fn decode_applied(
        &self,
        call: &ResourceRequest,
        object: &mut Value,
    ) -> Result<Vec<String>, ApiError> {
        self.decode(call, object)
    }

    /// Returns whether an apply that creates an object ignores the resourceVersion that it contains.
    fn ignores_revision_on_create(&self) -> bool {
        false
    }

    /// Returns whether a write of the status restores the metadata before fields get their owners.
    fn restores_before_ownership(&self) -> bool {
        false
    }

    /// Changes a new object before its validation.
    fn prepare_for_create(&self, call: &ResourceRequest, object: &mut Value, now: &str);

    /// Changes a new version of an object before its validation.
    fn prepare_for_update(&self, call: &ResourceRequest, object: &mut Value, live: &Value);

    /// Returns the errors and warnings of an object.
    fn validate(
        &self,
        call: &ResourceRequest,
        object: &Value,
        live: Option<&Value>,
    ) -> ValidationResult;

    /// Changes a valid object to the form in which it is stored.
    fn canonicalize(&self, _object: &mut Value) {}

    /// Changes an object that has just got another apiVersion to the form of that version.
    fn convert(&self, resource: &Resource, version: &str, object: &mut Value);

    /// Returns the fields that a write to this path does not change, and that it does not own.
    fn reset_fields(&self, call: &ResourceRequest) -> reset::Fields;

    /// Returns the directory of etcd in which the real server stores the objects. Messages contain it.
    fn storage_directory(&self, resource: &Resource) -> String {
        format!("/registry/{}", resource.plural)
    }
}

/// Returns the strategy of a resource.
pub(super) fn strategy_of(resource: &Resource) -> &'static dyn Strategy {
    if resource.is_custom() {
        &custom::CustomResource
    } else if &**resource.id() == DEFINITIONS {
        &definition::Definition
    } else {
        &builtin::BuiltIn
    }
}

/// Returns the strategy of the objects in the bodies of a request. The Scale of a custom resource is a
/// built-in object.
pub(super) fn body_strategy(call: &ResourceRequest) -> &'static dyn Strategy {
    if call.subresource == "scale" {
        &builtin::BuiltIn
    } else {
        strategy_of(&call.resource)
    }
}

/// Returns the compiled definition of the version of a request, if its resource is custom.
pub(super) fn custom(call: &ResourceRequest) -> Option<&CompiledVersion> {
    call.served().custom.as_deref()
}

/// Returns the schema of the objects of a request.
pub(super) fn schema(call: &ResourceRequest) -> Schema {
    schema_of(&call.resource, call.served())
}

/// Returns the schema of a version of a resource.
pub(super) fn schema_of(resource: &Resource, version: &Version) -> Schema {
    if let Some(custom) = &version.custom {
        return custom.schema.clone();
    }
    let found = Schema::builtin(&resource.group, &version.name, &resource.kind);
    found.unwrap_or_else(Schema::unknown)
}

/// Returns the errors of an object's metadata.
fn metadata_errors(
    call: &ResourceRequest,
    object: &Value,
    live: Option<&Value>,
    rule: crate::builtin::metadata::NameRule,
) -> Vec<crate::error::FieldError> {
    let namespaced = call.resource.namespaced;
    let mut errors = crate::builtin::metadata::validate(object, live, namespaced, rule);
    if live.is_some() {
        // The real server checks the metadata of an update twice, and reports each error twice.
        errors.extend(errors.clone());
    }
    errors
}
