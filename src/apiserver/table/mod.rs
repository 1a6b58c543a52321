//! Objects as rows of a table: what `kubectl get` prints.
//!
//! <https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables>

mod age;

use jiff::Timestamp;
use serde_json::{Value, json};

use super::resource::{Resource, Version};

/// A column of a table.
#[derive(Debug, Clone)]
pub struct Column {
    /// `Ready`
    pub name: String,
    /// `string`, `integer`, `date`, ...
    pub kind: String,
    /// `name` for the column that identifies the row.
    pub format: String,
    /// For people.
    pub description: String,
    /// Above 0: shown in wide output only.
    pub priority: i64,
}

/// The table of one version of a resource.
pub struct Table {
    columns: Vec<Column>,
}

impl Column {
    fn new(name: &str, kind: &str, format: &str, description: &str) -> Self {
        Self {
            name: name.to_owned(),
            kind: kind.to_owned(),
            format: format.to_owned(),
            description: description.to_owned(),
            priority: 0,
        }
    }

    /// As a `TableColumnDefinition`.
    pub fn definition(&self) -> Value {
        json!({
            "name": self.name,
            "type": self.kind,
            "format": self.format,
            "description": self.description,
            "priority": self.priority,
        })
    }
}

impl Table {
    /// Of a version of a resource.
    pub fn of(_resource: &Resource, _version: &Version) -> Self {
        let name = "Name must be unique within a namespace.";
        let age = "CreationTimestamp is a timestamp representing the server time when this object was created.";
        Self {
            columns: vec![
                Column::new("Name", "string", "name", name),
                Column::new("Age", "string", "", age),
            ],
        }
    }

    /// The columns.
    pub fn columns(&self) -> &[Column] {
        &self.columns
    }

    /// The cells of one object.
    pub fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let name = object["metadata"]["name"].clone();
        vec![name, age::of(object, now).into()]
    }
}
