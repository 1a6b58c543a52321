//! The selection of a list, a watch or a deletion of a collection.

mod fields;
mod terms;

use serde_json::Value;

use self::terms::Term;
use crate::error::ApiError;
use crate::labels::{self, LabelSelector};
use crate::resource::{Resource, Version};
use crate::store::Key;

/// A label selector and a field selector. An object must match both.
#[derive(Debug, Clone, Default)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: Vec<Term>,
}

impl Selection {
    /// Parses the selectors of a query. Returns an error for field labels that the resource does not have.
    pub(crate) fn parse(
        resource: &Resource,
        version: &Version,
        labels: &str,
        fields: &str,
    ) -> Result<Self, ApiError> {
        let labels = labels::parse(labels).map_err(ApiError::bad_request)?;
        let fields = terms::parse(fields).map_err(ApiError::bad_request)?;
        for Term { path, .. } in &fields {
            fields::check(resource, version, path).map_err(ApiError::bad_request)?;
        }
        Ok(Self { labels, fields })
    }

    /// Returns the selection of one object.
    pub(crate) fn of_name(name: &str) -> Self {
        Self {
            fields: vec![Term {
                path: "metadata.name".to_owned(),
                equal: true,
                value: name.to_owned(),
            }],
            ..Self::default()
        }
    }

    /// Returns whether all objects are selected.
    pub(crate) fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Returns whether an object is selected.
    pub(crate) fn matches(&self, resource: &Resource, key: &Key, object: &Value) -> bool {
        let fields = self.fields.iter().all(|term| {
            let is = match &*term.path {
                "metadata.name" => key.name() == term.value,
                "metadata.namespace" => key.namespace() == term.value,
                path => fields::value_of(resource, object, path) == term.value,
            };
            is == term.equal
        });
        let labels = &object["metadata"]["labels"];
        fields && self.labels.matches(|name| labels.get(name)?.as_str())
    }
}
