//! The strategy of built-in resources.

use serde_json::Value;

use super::{ResourceRequest, Strategy, ValidationResult, metadata_errors, reset};
use crate::builtin;
use crate::error::ApiError;
use crate::policy;
use crate::registry::shape::ensure_metadata;
use crate::resource::{Resource, split_api_version};
use crate::schema::{Schema, mismatch, strict};

/// Built-in resources other than definitions.
pub(super) struct BuiltIn;

impl Strategy for BuiltIn {
    fn requires_type(&self) -> bool {
        false
    }

    fn decode(&self, _call: &ResourceRequest, object: &mut Value) -> Result<Vec<String>, ApiError> {
        decode_with(object, |_, _| ())
    }

    fn prepare_for_create(&self, call: &ResourceRequest, object: &mut Value, now: &str) {
        let Resource { group, kind, .. } = &*call.resource;
        builtin::defaults(group, &call.version, kind, object);
        builtin::prepare_for_create(group, &call.version, kind, object, now);
    }

    fn prepare_for_update(&self, call: &ResourceRequest, object: &mut Value, live: &Value) {
        let Resource { group, kind, .. } = &*call.resource;
        builtin::defaults(group, &call.version, kind, object);
        builtin::prepare_for_update(group, &call.version, kind, object, live);
    }

    fn validate(
        &self,
        call: &ResourceRequest,
        object: &Value,
        live: Option<&Value>,
    ) -> ValidationResult {
        let Resource { group, kind, .. } = &*call.resource;
        let rule = builtin::metadata::name_rule(group, kind);
        let mut errors = metadata_errors(call, object, live, rule);
        errors.extend(builtin::validate(group, kind, object, live));
        if &**group == policy::GROUP {
            errors.extend(policy::check(kind, object));
        }
        let warnings = match live {
            None => builtin::warnings(group, kind, object),
            Some(_) => Vec::new(),
        };
        ValidationResult { errors, warnings }
    }

    fn convert(&self, resource: &Resource, _version: &str, object: &mut Value) {
        let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
        let (group, version) = split_api_version(&api_version);
        builtin::canonical(group, version, &resource.kind, object);
    }

    fn reset_fields(&self, call: &ResourceRequest) -> reset::Fields {
        reset::builtin(&call.resource.kind, &call.subresource)
    }
}

/// Decodes an object of a built-in kind. `complete` changes it after the type check and before the defaults
/// are set.
pub(super) fn decode_with(
    object: &mut Value,
    complete: impl FnOnce(&Schema, &mut Value),
) -> Result<Vec<String>, ApiError> {
    let kind = object["kind"].as_str().unwrap_or_default().to_owned();
    let api_version = object["apiVersion"].as_str().unwrap_or_default().to_owned();
    let (group, version) = split_api_version(&api_version);
    let mut unknown = Vec::new();
    if let Some(schema) = Schema::builtin(group, version, &kind) {
        mismatch::check(&schema, &kind, version, object)?;
        unknown = strict::unknown_fields(&schema, object);
        complete(&schema, object);
    }
    ensure_metadata(object)?;
    builtin::defaults(group, version, &kind, object);
    Ok(unknown)
}
