//! The conflict of an apply with the managers that own the fields it would change.

use serde_json::{Value, json};

use super::{element::Element, managers::Identity, set::PathSet};
use crate::error::ApiError;

/// The paths that an apply would change, by the other managers that own them.
#[derive(Clone, Debug, Default)]
pub(super) struct Conflicts(pub(super) Vec<(Identity, Vec<Vec<Element>>)>);

impl Conflicts {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns the conflicts, with the owners in the order of messages.
    pub(super) fn new(mut owners: Vec<(Identity, PathSet)>) -> Self {
        owners.sort_by_cached_key(|(id, _)| id.key());
        let owners = owners.into_iter().map(|(id, set)| (id, set.paths()));
        Self(owners.collect())
    }

    /// Returns the conflicts without those of some paths.
    pub(super) fn without(self, allowed: &PathSet) -> Self {
        let mut left = Vec::new();
        for (id, mut paths) in self.0 {
            paths.retain(|path| !allowed.has(path));
            if !paths.is_empty() {
                left.push((id, paths));
            }
        }
        Self(left)
    }

    /// Returns the 409 with one cause per path.
    pub(super) fn refusal(&self) -> ApiError {
        let mut causes = Vec::new();
        let mut lines = Vec::new();
        for (id, paths) in &self.0 {
            let title = id.title();
            lines.push(format!("conflicts with {title}:"));
            for path in paths {
                let path = text(path);
                lines.push(format!("- {path}"));
                causes.push(json!({
                    "reason": "FieldManagerConflict",
                    "message": format!("conflict with {title}"),
                    "field": path,
                }));
            }
        }
        let message = match causes.as_slice() {
            [one] => format!(
                "Apply failed with 1 conflict: {}: {}",
                one["message"].as_str().unwrap_or_default(),
                one["field"].as_str().unwrap_or_default()
            ),
            _ => format!(
                "Apply failed with {} conflicts: {}",
                causes.len(),
                lines.join("\n")
            ),
        };
        ApiError::conflicting(message).with_detail("causes", Value::Array(causes))
    }
}

/// Formats a path for messages: `.spec.ports[port=80]`.
pub(super) fn text(path: &[Element]) -> String {
    path.iter().map(ToString::to_string).collect()
}
