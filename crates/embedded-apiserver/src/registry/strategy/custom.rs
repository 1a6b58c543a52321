//! The strategy of custom resources.

use serde_json::Value;

use super::{ResourceRequest, Strategy, ValidationResult, custom, metadata_errors, reset};
use crate::builtin::metadata::NameRule;
use crate::crd;
use crate::error::ApiError;
use crate::registry::shape::ensure_metadata;
use crate::resource::Resource;

/// Resources that a custom resource definition defines.
pub(super) struct CustomResource;

impl Strategy for CustomResource {
    fn requires_type(&self) -> bool {
        true
    }

    fn decode(&self, call: &ResourceRequest, object: &mut Value) -> Result<Vec<String>, ApiError> {
        let mut errors = Vec::new();
        if let Some(custom) = custom(call) {
            let unknown = custom.version.coerce(object)?;
            custom.version.default(object);
            errors.extend(unknown.iter().map(|path| format!("unknown field {path:?}")));
        }
        ensure_metadata(object)?;
        Ok(errors)
    }

    /// Keeps nulls, which the validation reports.
    fn decode_applied(
        &self,
        call: &ResourceRequest,
        object: &mut Value,
    ) -> Result<Vec<String>, ApiError> {
        let Some(custom) = custom(call) else {
            return self.decode(call, object);
        };
        let mut head = object.clone();
        if let Some(fields) = head.as_object_mut() {
            fields.retain(|name, _| matches!(name.as_str(), "apiVersion" | "kind" | "metadata"));
        }
        custom.version.coerce(&mut head)?;
        ensure_metadata(&mut head)?;
        object["metadata"] = head["metadata"].take();
        custom.version.default(object);
        Ok(Vec::new())
    }

    fn ignores_revision_on_create(&self) -> bool {
        true
    }

    fn restores_before_ownership(&self) -> bool {
        true
    }

    fn prepare_for_create(&self, call: &ResourceRequest, object: &mut Value, _now: &str) {
        if call.served().subresource("status").is_some()
            && let Some(map) = object.as_object_mut()
        {
            map.remove("status");
        }
    }

    fn prepare_for_update(&self, _call: &ResourceRequest, _object: &mut Value, _live: &Value) {}

    fn validate(
        &self,
        call: &ResourceRequest,
        object: &Value,
        live: Option<&Value>,
    ) -> ValidationResult {
        let mut errors = metadata_errors(call, object, live, NameRule::Subdomain);
        let mut warnings = Vec::new();
        if let Some(custom) = custom(call) {
            let verdict = match live {
                Some(live) if call.subresource == "status" => {
                    custom.version.validate_status(object, live)
                }
                _ => custom.version.validate(object, live),
            };
            errors.extend(verdict.errors);
            warnings = verdict.warnings;
        }
        ValidationResult { errors, warnings }
    }

    /// Writes numbers such as `1.0` as `1`.
    fn canonicalize(&self, object: &mut Value) {
        crd::canonical_numbers(object);
    }

    fn convert(&self, resource: &Resource, version: &str, object: &mut Value) {
        let version = resource.versions.iter().find(|one| *one.name == *version);
        if let Some(custom) = version.and_then(|version| version.custom.as_ref()) {
            // An object that the schema of the new version does not accept stays as it is.
            let _ = custom.version.coerce(object);
            custom.version.default(object);
        }
    }

    fn reset_fields(&self, call: &ResourceRequest) -> reset::Fields {
        let has_status = call.served().subresource("status").is_some();
        reset::custom(has_status, &call.subresource)
    }

    fn storage_directory(&self, resource: &Resource) -> String {
        format!("/registry/{}/{}", resource.group, resource.plural)
    }
}
