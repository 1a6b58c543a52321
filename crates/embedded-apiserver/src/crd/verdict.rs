//! The outcome of a validation.

use serde_json::Value;

use super::structural::list;
use crate::error::FieldError;
use crate::go;

/// Finalizers that need no domain.
const STANDARD: [&str; 3] = ["orphan", "foregroundDeletion", "kubernetes"];

/// The errors, for which a write is refused, and the warnings that go with the answer.
#[derive(Debug, Default, PartialEq)]
pub struct Verdict {
    /// The reasons that the object is invalid. Empty for a valid object.
    pub errors: Vec<FieldError>,
    /// Tolerated failures, such as a failing rule on a value that did not change.
    pub warnings: Vec<String>,
}

impl Verdict {
    /// Warns of finalizers that another writer might use too.
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
