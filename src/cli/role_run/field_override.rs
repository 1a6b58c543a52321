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
            return Err("the path contains an empty segment".into());
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

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_to_set_are_yaml_and_paths_are_made() {
        let mut value = json!({"spec": {"size": 1, "name": "a"}});
        for text in [
            "spec.size=3",
            "spec.deep.list=[1, two]",
            "spec.name.now=map",
        ] {
            text.parse::<FieldOverride>().unwrap().apply(&mut value);
        }
        let expected =
            json!({"spec": {"size": 3, "deep": {"list": [1, "two"]}, "name": {"now": "map"}}});
        assert_eq!(value, expected);
        assert!("spec.size".parse::<FieldOverride>().is_err());
        assert!("spec..size=1".parse::<FieldOverride>().is_err());
        assert!("metadata.name=b".parse::<FieldOverride>().is_err());
        assert!("metadata.labels.a=b".parse::<FieldOverride>().is_ok());
    }
}
