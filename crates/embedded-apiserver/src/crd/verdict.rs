//! The outcome of a validation.

use serde_json::Value;

use super::structural::list;
use crate::error::FieldError;
use crate::go;

/// The finalizers that need no domain.
const STANDARD: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// The errors, which make the server refuse a write, and the warnings, which are part of the response.
#[derive(Debug, Default, PartialEq)]
pub struct ValidationResult {
    /// The reasons that the object is invalid. Empty for a valid object.
    pub errors: Vec<FieldError>,
    /// Failures that do not refuse the write, such as a failing rule on an unchanged value.
    pub warnings: Vec<String>,
}

impl ValidationResult {
    /// Adds warnings for finalizers whose names may conflict with those of other controllers.
    pub(super) fn warn_of_finalizers(&mut self, object: &Value, old: Option<&Value>) {
        let of = |object: &Value| -> Vec<String> {
            let finalizers = list(&object["metadata"], "finalizers").filter_map(Value::as_str);
            finalizers.map(str::to_owned).collect()
        };
        let before = old.map(of).unwrap_or_default();
        let mut added = of(object);
        added.retain(|one| !before.contains(one));
        added.sort();
        added.dedup();
        for one in added {
            if one.contains('/') || STANDARD.contains(&one.as_str()) {
                continue;
            }
            let path = if one.contains('.') {
                " including a path (/)"
            } else {
                ""
            };
            self.warnings.push(format!(
                "metadata.finalizers: {}: prefer a domain-qualified finalizer name{path} to avoid \
                 accidental conflicts with other finalizer writers",
                go::quote(&one)
            ));
        }
    }
}
