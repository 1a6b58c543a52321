//! The requests and responses of the registry.

use std::sync::Arc;

use serde_json::Value;

use crate::error::ApiError;
use crate::resource::{Resource, Version};
use crate::user::User;

/// The target, the user and the options of a request.
#[derive(Debug, Clone)]
pub(crate) struct ResourceRequest {
    /// The resource.
    pub resource: Arc<Resource>,
    /// The API version of the request.
    pub version: Box<str>,
    /// Empty for cluster-scoped resources and for all namespaces.
    pub namespace: String,
    /// Empty for collections.
    pub name: String,
    /// Empty for the object itself.
    pub subresource: String,
    /// The user that sends the request.
    pub user: User,
    /// The options of a write.
    pub options: WriteOptions,
}

/// The options of all writes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct WriteOptions {
    pub dry_run: bool,
    /// The field manager: the query parameter, or the first part of the user agent.
    pub manager: String,
    /// The handling of unknown and duplicate fields.
    pub validation: FieldValidation,
    /// True if an apply takes fields from other managers.
    pub force: bool,
}

/// `fieldValidation`: <https://kubernetes.io/docs/reference/using-api/api-concepts/#field-validation>
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// Removes unknown and duplicate fields.
    Ignore,
    /// Removes them, and returns a warning.
    #[default]
    Warn,
    /// Refuses the request.
    Strict,
}

/// The media type of a body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Media {
    /// `application/json`
    Json,
    /// `application/yaml`
    Yaml,
    /// `application/vnd.kubernetes.protobuf`
    Protobuf,
}

/// The type of a patch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PatchType {
    /// RFC 6902
    Json,
    /// RFC 7386
    Merge,
    /// Strategic merge patch of Kubernetes, with merge keys.
    Strategic,
    /// Server-side apply (KEP-555).
    Apply,
}

/// A response with an object.
#[derive(Debug, Clone)]
pub(crate) struct ObjectResponse {
    /// The HTTP status code.
    pub code: u16,
    /// The object in the version of the request, or a Status.
    pub object: Arc<Value>,
    /// Texts of `Warning` headers.
    pub warnings: Vec<String>,
}

impl ObjectResponse {
    /// Returns a response with the code 200.
    pub(crate) fn ok(object: impl Into<Arc<Value>>) -> Self {
        Self::with_code(200, object)
    }

    /// Returns a response with a code.
    pub(crate) fn with_code(code: u16, object: impl Into<Arc<Value>>) -> Self {
        Self {
            code,
            object: object.into(),
            warnings: Vec::new(),
        }
    }
}

impl ResourceRequest {
    /// Returns the version of the resource that the request uses.
    pub(crate) fn served(&self) -> &Version {
        let version = self.resource.served(&self.version);
        version.unwrap_or_else(|| self.resource.storage_version())
    }

    /// Returns the apiVersion of the request: `apps/v1`.
    pub(crate) fn api_version(&self) -> String {
        self.resource.api_version(&self.version)
    }

    /// Returns the 404 for an object of this resource.
    pub(crate) fn not_found(&self, name: &str) -> ApiError {
        ApiError::not_found(&self.resource.group, &self.resource.plural, name)
    }

    /// Returns the 409 for an object of this resource.
    pub(crate) fn conflict(&self, name: &str, why: &str) -> ApiError {
        ApiError::conflict(&self.resource.group, &self.resource.plural, name, why)
    }
}
