//! Tables for `kubectl get`: objects as rows.
//!
//! The columns of built-in kinds are those of the real server (`recipe.py`).

mod age;
mod cluster;
mod columns;
mod network;
mod workloads;

#[cfg(test)]
mod tests;

use std::borrow::Cow;

use jiff::Timestamp;
use serde_json::Value;

use super::crd::Heading;
use super::resource::{Resource, Version};

/// The table of one version of a resource.
#[derive(Debug)]
pub(crate) struct Table<'a> {
    resource: &'a Resource,
    version: &'a Version,
    columns: Cow<'a, [Heading]>,
}

impl<'a> Table<'a> {
    /// Returns the table of a version of a resource.
    pub(crate) fn new(resource: &'a Resource, version: &'a Version) -> Self {
        let columns = match &version.custom {
            Some(custom) => Cow::Owned(columns::custom(&custom.version)),
            None => Cow::Borrowed(columns::builtin(resource.storage())),
        };
        Self {
            resource,
            version,
            columns,
        }
    }

    pub(crate) fn columns(&self) -> &[Heading] {
        &self.columns
    }

    /// Returns the cells of an object, one for each column.
    pub(crate) fn cells(&self, object: &Value, now: Timestamp) -> Vec<Value> {
        let name = object["metadata"]["name"].clone();
        if let Some(custom) = &self.version.custom {
            let columns = custom.version.columns().iter();
            let rest = columns.map(|column| column.cell(object, now));
            return std::iter::once(name).chain(rest).collect();
        }
        let id = self.resource.storage();
        let rest = workloads::cells(id, object, now)
            .or_else(|| network::cells(id, object, now))
            .or_else(|| cluster::cells(id, object, now));
        match rest {
            // The name of an Event is in its last column.
            Some(rest) if &**id == "events" => rest.into_iter().chain([name]).collect(),
            Some(rest) => std::iter::once(name).chain(rest).collect(),
            None => vec![name, object["metadata"]["creationTimestamp"].clone()],
        }
    }
}

/// Returns a text, or a replacement if it is empty.
fn or<'a>(text: &'a str, otherwise: &'a str) -> &'a str {
    if text.is_empty() { otherwise } else { text }
}

/// Returns the string at a path, or an empty text if it is missing.
fn text<'a>(object: &'a Value, path: &[&str]) -> &'a str {
    at(object, path).as_str().unwrap_or_default()
}

/// Returns the number at a path, or 0 if it is missing.
fn number(object: &Value, path: &[&str]) -> i64 {
    at(object, path).as_i64().unwrap_or_default()
}

fn at<'a>(object: &'a Value, path: &[&str]) -> &'a Value {
    path.iter().fold(object, |value, key| &value[*key])
}

/// Returns the items of the list at a path.
fn list<'a>(object: &'a Value, path: &[&str]) -> &'a [Value] {
    at(object, path)
        .as_array()
        .map(Vec::as_slice)
        .unwrap_or_default()
}

/// Returns the number of entries of a map.
fn size(map: &Value) -> usize {
    map.as_object().map_or(0, serde_json::Map::len)
}

/// Formats labels: `a=b,c=d`, or `<none>` if there are none.
fn labels(map: &Value) -> String {
    let members = map.as_object().into_iter().flatten();
    let pairs = members.map(|(key, value)| format!("{key}={}", value.as_str().unwrap_or_default()));
    let text = pairs.collect::<Vec<_>>().join(",");
    or(&text, "<none>").to_owned()
}

/// Formats a label selector, or returns `<none>` if it selects all objects.
fn selector(selector: &Value) -> String {
    let parsed = crate::labels::LabelSelector::from_value(selector);
    let text = parsed.map(|one| one.to_string()).unwrap_or_default();
    or(&text, "<none>").to_owned()
}

/// Joins names with commas.
fn joined<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().collect::<Vec<_>>().join(",")
}
