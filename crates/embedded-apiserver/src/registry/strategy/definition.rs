//! The strategy of custom resource definitions.

use serde_json::Value;

use super::builtin::{BuiltIn, decode_with};
use super::{ResourceRequest, Strategy, ValidationResult, metadata_errors, reset};
use crate::builtin::metadata::name_rule;
use crate::crd;
use crate::error::ApiError;
use crate::resource::Resource;
use crate::schema::canonical;

/// Custom resource definitions, which are built-in objects with rules of their own.
pub(super) struct Definition;

impl Strategy for Definition {
    fn requires_type(&self) -> bool {
        BuiltIn.requires_type()
    }

    fn decode(&self, call: &ResourceRequest, object: &mut Value) -> Result<Vec<String>, ApiError> {
        let unknown = decode_with(object, |schema, object| {
            canonical::canonical(schema, object);
            crd::default(object);
        })?;
        if call.subresource != "status" {
            crd::prepare(object, None);
        }
        Ok(unknown)
    }

    fn prepare_for_create(&self, _call: &ResourceRequest, object: &mut Value, _now: &str) {
        crd::prepare(object, None);
    }

    fn prepare_for_update(&self, _call: &ResourceRequest, object: &mut Value, live: &Value) {
        crd::prepare(object, Some(live));
    }

    fn validate(
        &self,
        call: &ResourceRequest,
        object: &Value,
        live: Option<&Value>,
    ) -> ValidationResult {
        let rule = name_rule(&call.resource.group, &call.resource.kind);
        let mut errors = metadata_errors(call, object, live, rule);
        if call.subresource == "status" {
            errors.extend(crd::validate_status(object));
            let warnings = Vec::new();
            return ValidationResult { errors, warnings };
        }
        errors.extend(crd::validate(object, live));
        let warnings = crd::warnings(object, live);
        ValidationResult { errors, warnings }
    }

    fn convert(&self, _resource: &Resource, _version: &str, _object: &mut Value) {}

    fn reset_fields(&self, call: &ResourceRequest) -> reset::Fields {
        BuiltIn.reset_fields(call)
    }
}
