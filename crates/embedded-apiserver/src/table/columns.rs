//! The headings of table columns.

use std::collections::HashMap;
use std::sync::LazyLock;

use crate::crd::{self, Heading};

const TABLE: &str = include_str!("columns.json");

/// The name, type, format, priority and description of a column.
type Entry = (String, String, String, i64, String);

static HEADINGS: LazyLock<HashMap<String, Vec<Heading>>> = LazyLock::new(|| {
    // The table is part of the binary. If it were malformed, tables would have no columns.
    let table: HashMap<String, Vec<Entry>> = serde_json::from_str(TABLE).unwrap_or_default();
    let headings = |entries: Vec<Entry>| entries.into_iter().map(heading).collect();
    table
        .into_iter()
        .map(|(id, entries)| (id, headings(entries)))
        .collect()
});

/// The key of the default columns, for kinds without their own columns.
const PLAIN: &str = "roles.rbac.authorization.k8s.io";

fn heading((name, kind, format, priority, description): Entry) -> Heading {
    Heading {
        name,
        kind,
        format,
        description,
        priority,
    }
}

/// Returns the columns of a built-in resource.
pub(super) fn builtin(id: &str) -> &'static [Heading] {
    let columns = HEADINGS.get(id).or_else(|| HEADINGS.get(PLAIN));
    columns.map(Vec::as_slice).unwrap_or_default()
}

/// Returns the columns of a custom resource: its name and the columns of its definition.
pub(super) fn custom(version: &crd::Version) -> Vec<Heading> {
    let name = builtin(PLAIN).first().cloned();
    let own = version.columns().iter().map(|one| one.heading.clone());
    name.into_iter().chain(own).collect()
}
