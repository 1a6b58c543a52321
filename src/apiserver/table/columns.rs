//! What the columns of tables are called.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::apiserver::crd;

const TABLE: &str = include_str!("columns.json");

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

/// Name, type, format, priority, description.
type Entry = (String, String, String, i64, String);

static COLUMNS: LazyLock<HashMap<String, Vec<Column>>> = LazyLock::new(|| {
    // Part of the binary: were it malformed, tables would have no columns.
    let table: HashMap<String, Vec<Entry>> = serde_json::from_str(TABLE).unwrap_or_default();
    let columns = |entries: Vec<Entry>| entries.into_iter().map(Column::of).collect();
    table
        .into_iter()
        .map(|(id, entries)| (id, columns(entries)))
        .collect()
});

/// The key of the columns that kinds without a printer of their own have.
const PLAIN: &str = "roles.rbac.authorization.k8s.io";

impl Column {
    fn of((name, kind, format, priority, description): Entry) -> Self {
        Self {
            name,
            kind,
            format,
            description,
            priority,
        }
    }
}

/// The columns of a built-in resource.
pub(super) fn builtin(id: &str) -> &'static [Column] {
    let columns = COLUMNS.get(id).or_else(|| COLUMNS.get(PLAIN));
    columns.map(Vec::as_slice).unwrap_or_default()
}

/// The columns of a custom resource: its name and what its definition says.
pub(super) fn custom(version: &crd::Version) -> Vec<Column> {
    let name = builtin(PLAIN).first().cloned();
    let own = version.columns().iter().map(|column| Column {
        name: column.name.clone(),
        kind: column.kind.clone(),
        format: column.format.clone(),
        description: column.description.clone(),
        priority: column.priority,
    });
    name.into_iter().chain(own).collect()
}
