//! What a list, a watch or a deletion of a collection selects.

mod fields;

use serde_json::Value;

use crate::apiserver::error::ApiError;
use crate::apiserver::resource::Resource;
use crate::apiserver::store::Key;
use crate::model::field_selector::FieldSelector;
use crate::model::selector::LabelSelector;

/// A label selector and a field selector; both must hold.
#[derive(Debug, Clone, Default)]
pub struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// From the texts of a query; field labels that the resource does not have are refused.
    pub fn parse(resource: &Resource, labels: &str, fields: &str) -> Result<Self, ApiError> {
        let labels: LabelSelector = labels
            .parse()
            .map_err(|why| ApiError::bad_request(format!("unable to parse requirement: {why}")))?;
        let fields: FieldSelector = fields.parse().map_err(|_| {
            ApiError::bad_request(format!(
                "invalid field selector: {fields}; can't understand {fields:?}"
            ))
        })?;
        let selection = Self { labels, fields };
        selection.check(resource)?;
        Ok(selection)
    }

    /// Of one object of a resource, as `get` with a watch has it.
    pub fn of_name(name: &str) -> Self {
        let fields = format!("metadata.name={name}").parse();
        Self {
            fields: fields.unwrap_or_default(),
            ..Self::default()
        }
    }

    /// Whether everything is selected.
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// The name that all selected objects have.
    pub fn name(&self) -> Option<&str> {
        self.fields
            .terms()
            .find(|(path, equal, _)| *path == "metadata.name" && *equal)
            .map(|(_, _, value)| value)
    }

    /// Whether an object is selected.
    pub fn matches(&self, resource: &Resource, key: &Key, object: &Value) -> bool {
        let fields = self.fields.terms().all(|(path, equal, value)| {
            let is = match path {
                "metadata.name" => key.name() == value,
                "metadata.namespace" => key.namespace() == value,
                _ => fields::value_of(resource, object, path) == value,
            };
            is == equal
        });
        let labels = &object["metadata"]["labels"];
        fields && self.labels.matches(|name| labels.get(name)?.as_str())
    }

    fn check(&self, resource: &Resource) -> Result<(), ApiError> {
        for (path, _, _) in self.fields.terms() {
            if !fields::is_supported(resource, path) {
                let message = if resource.is_custom() || fields::has_own(resource) {
                    format!("field label not supported: {path}")
                } else {
                    format!(
                        "{path:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
                    )
                };
                return Err(ApiError::bad_request(message));
            }
        }
        Ok(())
    }
}
