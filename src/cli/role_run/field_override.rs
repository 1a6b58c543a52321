//! Changes of the custom resource by `--set`.

use std::str::FromStr;

use serde_json::{Map, Value};

use crate::model::yaml;

/// The fields that identify the custom resource, which `--set` must not change.
const IDENTITY: [&str; 6] = [
    "apiVersion",
    "kind",
    "metadata",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
];

/// A field and its new value.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct FieldOverride {
    path: Vec<String>,
    value: Value,
}

impl FromStr for FieldOverride {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (path, value) = text
            .split_once('=')
            .ok_or("expected PATH=VALUE, e.g. spec.size=3")?;
        let path: Vec<String> = path.split('.').map(str::to_owned).collect();
        if path.iter().any(String::is_empty) {
            return Err("the path has an empty part".into());
        }
        if IDENTITY.contains(&&*path.join(".")) {
            return Err("cannot set a field that identifies the custom resource; use --cr".into());
        }
        let value = yaml::parse(value).map_err(|error| error.to_string())?;
        Ok(Self { path, value })
    }
}

impl FieldOverride {
    /// Sets the field of an object.
    pub(super) fn apply(&self, target: &mut Value) {
        let mut place = target;
        for key in &self.path {
            if !place.is_object() {
                *place = Map::new().into();
            }
            place = &mut place[key.as_str()];
        }
        *place = self.value.clone();
    }
}
