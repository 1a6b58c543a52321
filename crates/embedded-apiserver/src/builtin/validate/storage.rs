//! Validates `StorageClasses`.

use serde_json::Value;

use super::super::path::text;
use super::check::{self, Errors, one_of, unchanged};
use crate::error::FieldError;
use crate::names;

pub(super) fn validate_storage_class(object: &Value, old: Option<&Value>) -> Errors {
    let mut errors = Vec::new();
    if let Some(old) = old {
        for field in ["provisioner", "reclaimPolicy", "volumeBindingMode"] {
            unchanged(&mut errors, object, old, &[field]);
        }
        if object["parameters"] != old["parameters"] {
            let detail = "updates to parameters are forbidden.";
            errors.push(FieldError::forbidden("parameters", detail));
        }
        return errors;
    }
    let provisioner = text(object, &["provisioner"]);
    let rule = |name: &str| names::qualified(&name.to_lowercase());
    check::name(&mut errors, "provisioner".to_owned(), provisioner, rule);
    let policies = ["Delete", "Retain"];
    one_of(
        &mut errors,
        "reclaimPolicy".to_owned(),
        &object["reclaimPolicy"],
        &policies,
    );
    let modes = ["Immediate", "WaitForFirstConsumer"];
    one_of(
        &mut errors,
        "volumeBindingMode".to_owned(),
        &object["volumeBindingMode"],
        &modes,
    );
    errors
}
