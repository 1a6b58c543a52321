//! `metadata.managedFields`: the managers and their fields, in the format of apimachinery.

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use super::set::PathSet;
use crate::go;

/// An entry of the managed fields: the fields of one manager.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Entry {
    pub id: Identity,
    /// The `apiVersion` to which the field paths belong.
    pub api_version: String,
    pub time: Option<Timestamp>,
    pub set: PathSet,
}

/// The identity of a manager. Entries with the same identity are merged.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Identity {
    pub manager: String,
    /// True for the operation `Apply`, false for `Update`.
    pub applies: bool,
    /// The `apiVersion` of an `Update` entry, because a manager has one entry per version. Empty for `Apply`.
    pub version: String,
    pub subresource: String,
}

impl Identity {
    pub(super) fn new(manager: &str, applies: bool, api_version: &str, subresource: &str) -> Self {
        let version = if applies { "" } else { api_version };
        Self {
            manager: if manager.is_empty() {
                "unknown"
            } else {
                manager
            }
            .to_owned(),
            applies,
            version: version.to_owned(),
            subresource: subresource.to_owned(),
        }
    }

    /// Returns the text by which apimachinery sorts managers: the entry as JSON.
    pub(super) fn key(&self) -> String {
        let mut key = String::from("{");
        let operation = operation(self.applies);
        let parts = [
            ("manager", &*self.manager),
            ("operation", operation),
            ("apiVersion", &self.version),
            ("subresource", &self.subresource),
        ];
        for (name, value) in parts {
            if !value.is_empty() {
                let comma = if key.len() > 1 { "," } else { "" };
                let value = go::json(&value.into());
                key.push_str(&[comma, "\"", name, "\":", &value].concat());
            }
        }
        key.push('}');
        key
    }

    /// Returns the name of the manager in a conflict.
    pub(super) fn title(&self) -> String {
        let mut title = go::quote(&self.manager);
        if !self.subresource.is_empty() {
            title.push_str(" with subresource ");
            title.push_str(&go::quote(&self.subresource));
        }
        if !self.applies {
            title.push_str(" using ");
            title.push_str(&self.version);
        }
        title
    }
}

fn operation(applies: bool) -> &'static str {
    if applies { "Apply" } else { "Update" }
}

/// All entries of the managed fields of an object.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Managers(pub(super) Vec<Entry>);

impl Managers {
    /// Parses the managed fields of an object.
    pub(super) fn from_object(object: &Value) -> Result<Self, String> {
        Self::parse(&object["metadata"]["managedFields"])
    }

    /// Parses `managedFields`.
    pub(super) fn parse(entries: &Value) -> Result<Self, String> {
        let mut managers = Self::default();
        for (index, entry) in entries.as_array().into_iter().flatten().enumerate() {
            let entry = read(entry, index)?;
            // The later of two entries with the same identity counts.
            match managers.get_mut(&entry.id) {
                Some(known) => *known = entry,
                None => managers.0.push(entry),
            }
        }
        Ok(managers)
    }

    pub(super) fn get(&self, id: &Identity) -> Option<&Entry> {
        self.0.iter().find(|entry| entry.id == *id)
    }

    pub(super) fn get_mut(&mut self, id: &Identity) -> Option<&mut Entry> {
        self.0.iter_mut().find(|entry| entry.id == *id)
    }

    pub(super) fn take(&mut self, id: &Identity) -> Option<Entry> {
        let place = self.0.iter().position(|entry| entry.id == *id)?;
        Some(self.0.remove(place))
    }

    /// Removes managers that own no fields.
    pub(super) fn drop_empty(&mut self) {
        self.0.retain(|entry| !entry.set.is_empty());
    }

    /// Writes the entries to an object: first those that apply, then by time, name, version and subresource.
    pub(super) fn write(mut self, object: &mut Value) {
        let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) else {
            return;
        };
        if self.0.is_empty() {
            metadata.remove("managedFields");
            return;
        }
        let order = |entry: &Entry| {
            let seconds = seconds(entry);
            let id = entry.id.clone();
            (
                !id.applies,
                seconds,
                id.manager,
                entry.api_version.clone(),
                id.subresource,
            )
        };
        self.0.sort_by_cached_key(order);
        let entries: Value = self.0.iter().map(wire).collect();
        metadata.insert("managedFields".to_owned(), entries);
    }
}

/// Returns the time of an entry in whole seconds, or 0 if it has none.
pub(super) fn seconds(entry: &Entry) -> i64 {
    entry.time.map_or(0, Timestamp::as_second)
}

fn read(entry: &Value, index: usize) -> Result<Entry, String> {
    let text = |name: &str| entry[name].as_str().unwrap_or_default();
    let applies = match text("operation") {
        "Apply" => true,
        "Update" => false,
        _ => return Err("operation must be `Apply` or `Update`".to_owned()),
    };
    if text("apiVersion").is_empty() {
        return Err("apiVersion must not be empty".to_owned());
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => {
            return Err(format!(
                "missing fieldsType in managed fields entry {index}"
            ));
        }
        other => {
            return Err(format!(
                "invalid fieldsType {other:?} in managed fields entry {index}"
            ));
        }
    }
    let version = text("apiVersion");
    let mut id = Identity::new("", applies, version, text("subresource"));
    text("manager").clone_into(&mut id.manager);
    Ok(Entry {
        id,
        api_version: version.to_owned(),
        time: text("time").parse().ok(),
        set: PathSet::parse(&entry["fieldsV1"])
            .map_err(|why| format!("error decoding set: {why}"))?,
    })
}

fn wire(entry: &Entry) -> Value {
    let mut wire = Map::new();
    let time = entry
        .time
        .map(|time| time.strftime("%Y-%m-%dT%H:%M:%SZ").to_string());
    let parts = [
        ("manager", entry.id.manager.clone()),
        ("operation", operation(entry.id.applies).to_owned()),
        ("apiVersion", entry.api_version.clone()),
        ("time", time.unwrap_or_default()),
        ("fieldsType", "FieldsV1".to_owned()),
        ("subresource", entry.id.subresource.clone()),
    ];
    for (name, value) in parts {
        if !value.is_empty() {
            wire.insert(name.to_owned(), value.into());
        }
    }
    wire.insert("fieldsV1".to_owned(), entry.set.wire());
    Value::Object(wire)
}

/// Returns whether a write requests to clear all managers: with an empty list, or with one empty entry.
pub(super) fn asks_for_reset(object: &Value) -> bool {
    match object["metadata"]["managedFields"]
        .as_array()
        .map(Vec::as_slice)
    {
        Some([]) => true,
        Some([one]) => *one == json!({}),
        _ => false,
    }
}
